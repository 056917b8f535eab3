import InflightCurl
import Testing

@Suite("Public suffixes", .timeLimit(.minutes(10)))
struct PublicSuffixTests {
    @Test(
        "libpsl's list tells public suffixes, private ones included, from domains with one owner",
        arguments: [
            ("com", true), ("co.uk", true), ("github.io", true), ("localhost", true), ("\u{440}\u{444}", true),
            ("xn--p1ai", true), ("example.com", false), ("example.co.uk", false), ("me.github.io", false),
            ("site.localhost", false), ("example.xn--p1ai", false),
        ])
    func suffixes(domain: String, isSuffix: Bool) throws {
        #expect(try CurlTransport().isPublicSuffix(domain) == isSuffix)
    }
}
