import Testing

@testable import InflightCore

@Suite("Cache-Control", .timeLimit(.minutes(10)))
struct CacheControlTests {
    private func control(_ lines: String...) -> CacheControl {
        CacheControl(fields(lines.map { ("Cache-Control", $0) }))
    }

    @Test(
        "RFC 9111 5.2: max-age is read, whatever surrounds it",
        arguments: [
            ("max-age=3600", 3600), ("MaX-aGe=3600", 3600), ("max-age=\"3600\"", 3600), ("max-age=003600", 3600),
            ("foobar, max-age=3600", 3600), (" ,, max-age=3600 , x=y", 3600), ("\tmax-age=0", 0),
            ("extension=\"max-age=3600\", max-age=1", 1), ("max-age=1, extension=\"max-age=3600\"", 1),
            ("extension=\"a\\\", max-age=3600\", max-age=1", 1), ("s-maxage=3600, max-age=1", 1),
        ])
    func maxAge(line: String, seconds: Int64) {
        #expect(control(line).maxAge == seconds)
    }

    @Test(
        "RFC 9111 4.2.1: a max-age that cannot be read makes an answer stale",
        arguments: [
            "max-age=a3600", "max-age=3600a", "max-age=-1", "max-age='3600'", "max-age=3600.0", "max-age =3600",
            "max-age= 3600", "max-age", "max-age=", "max-age=\"", "max-age=\"3600", "max-age=\"3600\"x", "max-age=1 0",
        ])
    func invalidMaxAge(line: String) {
        #expect(control(line).maxAge == 0)
    }

    @Test(
        "RFC 9111 1.2.2: what is larger than 2^31 seconds is 2^31",
        arguments: [
            "2147483648", "2147483649", "99999999999", "9223372036854775808", String(repeating: "9", count: 400),
        ])
    func overflow(digits: String) {
        #expect(control("max-age=\(digits)").maxAge == 1 << 31)
    }

    @Test("RFC 9111 4.2.1: of a directive that stands there twice the first counts, in one line and in two")
    func doubled() {
        #expect(control("max-age=1800, max-age=1").maxAge == 1800)
        #expect(control("max-age=1", "max-age=1800").maxAge == 1)
        #expect(control("max-age=x, max-age=1800").maxAge == 0)
    }

    @Test("RFC 9111 5.2: all lines of the field count as one list")
    func lines() {
        let control = control("max-age=7", "", "no-store", "must-revalidate,immutable")
        #expect(control.maxAge == 7 && control.noStore && control.mustRevalidate && control.isImmutable)
    }

    @Test("RFC 9111 5.2.2.4: no-cache with names concerns those fields alone, in both forms")
    func noCacheFields() {
        #expect(control("no-cache=\"Set-Cookie , A\"").noCacheFields == ["set-cookie", "a"])
        #expect(!control("no-cache=\"Set-Cookie\"").noCache)
        #expect(control("no-cache=Set-Cookie").noCacheFields == ["set-cookie"])
        #expect(control("no-cache=\"a\", no-cache").noCache)
        for malformed in ["no-cache=\"\"", "no-cache=", "no-cache=\"a", "no-cache=\" , \""] {
            #expect(control(malformed).noCache, "\(malformed)")
        }
    }

    @Test("what restricts counts behind a quotation mark that nothing closes, and what permits does not")
    func unclosed() {
        let control = control("x=\"max-age=3600, no-store, public, stale-if-error=9, must-revalidate")
        #expect(control.noStore && control.mustRevalidate)
        #expect(control.maxAge == 0 && !control.isPublic && control.staleIfError == nil)
        #expect(CacheControl(fields([("Cache-Control", "x=\"a, max-age=5")])).maxAge == 0)
    }

    @Test("RFC 9111 5.2.1: what requests say is read")
    func requests() {
        let control = control("max-stale=5, min-fresh=6, only-if-cached, no-cache, no-store, stale-if-error=7")
        #expect(control.maxStale == 5 && control.minFresh == 6 && control.onlyIfCached && control.noCache)
        #expect(control.noStore && control.staleIfError == 7)
        #expect(self.control("max-stale").maxStale == .max)
        #expect(self.control("max-stale=x").maxStale == 0)
        #expect(self.control("min-fresh=x").minFresh == 1 << 31)
    }

    @Test("RFC 9111 5.4: Pragma: no-cache of a request counts where it has no Cache-Control")
    func pragma() {
        #expect(CacheControl(request: fields([("Pragma", "x, No-Cache")])).noCache)
        #expect(!CacheControl(request: fields([("Pragma", "no-cache"), ("Cache-Control", "max-age=9")])).noCache)
        #expect(!CacheControl(request: fields([("Pragma", "other")])).noCache)
        #expect(!CacheControl(fields([("Pragma", "no-cache")])).noCache)
    }
}
