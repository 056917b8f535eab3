import InflightCore
import InflightTestSupport
import Testing

@Suite("HTTP dates", .timeLimit(.minutes(10)))
struct HTTPDateTests {
    private static let year2026 = WallTime(milliseconds: 1_767_225_600_000)

    private func parse(_ text: String, now: WallTime = year2026) -> Int64? {
        HTTPDate.parse(Array(text.utf8), now: now).map { $0.milliseconds / 1000 }
    }

    @Test(
        "RFC 9110 5.6.7: All three date formats are parsed",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed Nov 16 08:49:37 1994", 784_975_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200),
            ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1), (" Sun, 06 Nov 1994 08:49:37 GMT\t", 784_111_777),
        ])
    func formats(text: String, seconds: Int64) {
        #expect(parse(text) == seconds)
    }

    @Test(
        "RFC 9111 4.2: Date parsing ignores case and a wrong day of the week",
        arguments: ["SUN, 06 NOV 1994 08:49:37 gMT", "Mon, 06 Nov 1994 08:49:37 GMT", "sunday, 06-NOV-94 08:49:37 Gmt"])
    func caseIsIgnored(text: String) {
        #expect(parse(text) == 784_111_777)
    }

    @Test(
        "RFC 9111 5.3: A malformed date or one in another time zone is rejected",
        arguments: [
            "0", "-1", "", "foo", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov  1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08.49.37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 32 Jan 1994 08:49:37 GMT",
            "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
            "Xyz, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 +0100", "Sun Nov 6 08:49:37 1994",
            "Sun Nov  16 08:49:37 1994", "1994-11-06T08:49:37Z", "Sun, 06 Nov 19940 08:49:37 GMT",
        ])
    func refused(text: String) {
        #expect(parse(text) == nil)
    }

    @Test(
        "RFC 9110 5.6.7: A two-digit year is at most 50 years in the future",
        arguments: [
            ("Tuesday, 01-Jan-75 00:00:00 GMT", 2075), ("Tuesday, 31-Dec-75 00:00:00 GMT", 2075),
            ("Tuesday, 01-Mar-76 00:00:00 GMT", 1976), ("Tuesday, 01-Jan-99 00:00:00 GMT", 1999),
            ("Tuesday, 01-Jan-26 00:00:00 GMT", 2026), ("Tuesday, 01-Jan-00 00:00:00 GMT", 2000),
        ])
    func twoDigits(text: String, year: Int) {
        let seconds = parse(text) ?? 0
        #expect(HTTPDate.text(WallTime(milliseconds: seconds * 1000)).contains(" \(year) "))
    }

    @Test("At the end of a century, a two-digit year may be in the next century")
    func nextCentury() {
        let now = WallTime(milliseconds: 4_070_908_800_000)  // 2099-01-01
        #expect(parse("Sunday, 06-Nov-01 08:49:37 GMT", now: now).map { $0 > now.milliseconds / 1000 } == true)
    }

    @Test("A date round-trips through formatting and parsing")
    func roundTrip() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<4_000 {
            let seconds = Int64.random(in: -62_167_219_200...253_402_300_799, using: &random)
            let time = WallTime(milliseconds: seconds * 1000)
            #expect(HTTPDate.parse(Array(HTTPDate.text(time).utf8), now: Self.year2026) == time)
        }
        #expect(HTTPDate.text(WallTime(milliseconds: .max)) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate.text(WallTime(milliseconds: .min)) == "Sat, 01 Jan 0000 00:00:00 GMT")
        #expect(HTTPDate.text(WallTime(milliseconds: 784_111_777_999)) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}
