import InflightCore
import Testing

@Suite("Cache-Control", .timeLimit(.minutes(10)))
struct CacheControlTests {
    private func control(_ lines: String...) -> CacheControl {
        CacheControl(fields(lines.map { ("Cache-Control", $0) }))
    }

    @Test(
        "RFC 9111 5.2: max-age is parsed in any case, quoted or not, among other directives",
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
        "RFC 9111 4.2.1: A malformed max-age counts as 0",
        arguments: [
            "max-age=a3600", "max-age=3600a", "max-age=-1", "max-age='3600'", "max-age=3600.0", "max-age =3600",
            "max-age= 3600", "max-age", "max-age=", "max-age=\"", "max-age=\"3600", "max-age=\"3600\"x", "max-age=1 0",
        ])
    func invalidMaxAge(line: String) {
        #expect(control(line).maxAge == 0)
    }

    @Test(
        "RFC 9111 1.2.2: Delta-seconds above 2^31 are read as 2^31",
        arguments: [
            "2147483648", "2147483649", "99999999999", "9223372036854775808", String(repeating: "9", count: 400),
        ])
    func overflow(digits: String) {
        #expect(control("max-age=\(digits)").maxAge == 1 << 31)
    }

    @Test("RFC 9111 4.2.1: The first of duplicate directives counts, in one field line or in two")
    func doubled() {
        #expect(control("max-age=1800, max-age=1").maxAge == 1800)
        #expect(control("max-age=1", "max-age=1800").maxAge == 1)
        #expect(control("max-age=x, max-age=1800").maxAge == 0)
    }

    @Test("RFC 9111 5.2: Several Cache-Control field lines form one list")
    func lines() {
        let control = control("max-age=7", "", "no-store", "must-revalidate,immutable")
        #expect(control.maxAge == 7 && control.noStore && control.mustRevalidate && control.isImmutable)
    }

    @Test("RFC 9111 5.2.2.4: no-cache with field names applies to those fields alone, quoted or not")
    func noCacheFields() {
        #expect(control("no-cache=\"Set-Cookie , A\"").noCacheFields == ["set-cookie", "a"])
        #expect(!control("no-cache=\"Set-Cookie\"").noCache)
        #expect(control("no-cache=Set-Cookie").noCacheFields == ["set-cookie"])
        #expect(control("no-cache=\"a\", no-cache").noCache)
        for malformed in ["no-cache=\"\"", "no-cache=", "no-cache=\"a", "no-cache=\" , \""] {
            #expect(control(malformed).noCache, "\(malformed)")
        }
    }

    @Test("Behind an unclosed quotation mark, restrictive directives count and permissive ones do not")
    func unclosed() {
        let control = control("x=\"max-age=3600, no-store, public, stale-if-error=9, must-revalidate")
        #expect(control.noStore && control.mustRevalidate)
        #expect(control.maxAge == 0 && !control.isPublic && control.staleIfError == nil)
        #expect(CacheControl(fields([("Cache-Control", "x=\"a, max-age=5")])).maxAge == 0)
    }

    @Test("RFC 9111 5.2.1: Request directives are parsed, and malformed arguments restrict reuse")
    func requests() {
        let control = control("max-stale=5, min-fresh=6, only-if-cached, no-cache, no-store, stale-if-error=7")
        #expect(control.maxStale == 5 && control.minFresh == 6 && control.onlyIfCached && control.noCache)
        #expect(control.noStore && control.staleIfError == 7)
        #expect(self.control("max-stale").maxStale == .max)
        #expect(self.control("max-stale=x").maxStale == 0)
        #expect(self.control("min-fresh=x").minFresh == 1 << 31)
    }

    @Test("RFC 9111 5.4: Pragma: no-cache counts only in a request without Cache-Control")
    func pragma() {
        #expect(CacheControl(request: fields([("Pragma", "x, No-Cache")])).noCache)
        #expect(!CacheControl(request: fields([("Pragma", "no-cache"), ("Cache-Control", "max-age=9")])).noCache)
        #expect(!CacheControl(request: fields([("Pragma", "other")])).noCache)
        #expect(!CacheControl(fields([("Pragma", "no-cache")])).noCache)
    }
}
