@testable import InflightCore

extension Target {
    /// A date in any of the three HTTP formats. A parsed date is written in all three formats and parsed again.
    static let date = Target(name: "date") { bytes in
        guard let time = HTTPDate.parse(bytes, now: .example) else { return }
        require(time.milliseconds % 1000 == 0, "dates are whole seconds")
        require(
            HTTPDate.parse(bytes.map { $0 >= 0x61 && $0 <= 0x7A ? $0 & 0xDF : $0 }, now: .example) == time,
            "dates are case-insensitive")

        let text = HTTPDate.text(time)
        // A leap second at the end of the year 9999 cannot be written.
        if time.milliseconds > 253_402_300_799_000 { return }
        require(HTTPDate.parse(text.utf8, now: .example) == time, "\(text) is the parsed date")
        // Sun, 06 Nov 1994 08:49:37 GMT
        let words = text.split(separator: " ").map(String.init)
        let day = words[1].hasPrefix("0") ? " " + words[1].dropFirst() : words[1]
        let asctime = "\(words[0].prefix(3)) \(words[2]) \(day) \(words[4]) \(words[3])"
        require(HTTPDate.parse(asctime.utf8, now: .example) == time, "\(asctime) equals \(text)")
        let long = ["Mon": "Mon", "Tue": "Tues", "Wed": "Wednes", "Thu": "Thurs", "Fri": "Fri", "Sat": "Satur"]
        let name = (long[String(words[0].prefix(3))] ?? "Sun") + "day"
        let rfc850 = "\(name), \(words[1])-\(words[2])-\(words[3].suffix(2)) \(words[4]) GMT"
        if words[3] >= "0100" {
            require(HTTPDate.parse(rfc850.utf8, now: time) == time, "\(rfc850) equals \(text) at that time")
        }
    }
}
