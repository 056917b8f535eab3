internal import InflightConcurrency

/// Dates in the formats of HTTP (RFC 9110 section 5.6.7): always in GMT, to the second.
package enum HTTPDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    private static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    private static let longDays = [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    ]

    /// Parses all three formats without regard to case (RFC 9111 section 4.2); `nil` for everything else, other time
    /// zones included. A day of the week that does not match the date is ignored.
    ///
    /// - Parameter now: the reference for two-digit years, which are at most 50 years after it.
    package static func parse(_ text: some Sequence<UInt8>, now: WallTime) -> WallTime? {
        let text = FieldScanner.trimmed(text.map(\.asciiLowercased)[...])
        if text.count == fixedForm.count, let time = fixed(text) { return time }
        let words = text.split(separator: 0x20, omittingEmptySubsequences: false)
        switch words.count {
        case 4: return rfc850(words, now: now)
        case 5, 6: return asctime(words)
        default: return nil
        }
    }

    /// Parses the first line with this name.
    package static func parse(_ name: String, of fields: HTTPFields, now: WallTime) -> WallTime? {
        fields.rawValues(name).first.flatMap { parse($0, now: now) }
    }

    /// Parses the date in the `Expires` attribute of a cookie, whose parts may come in any order, with any delimiters
    /// (RFC 6265 section 5.1.1); `nil` if a part is missing or impossible.
    package static func parse(cookieDate text: ArraySlice<UInt8>) -> WallTime? {
        var clock: [Int64]?
        var day: Int64?
        var month: Int?
        var year: Int64?
        for token in text.split(whereSeparator: isCookieDateDelimiter) {
            let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            let numbers = parts.enumerated().compactMap { leadingNumber($1, 1...2, endsHere: $0 < 2) }
            if clock == nil, numbers.count == 3 {
                clock = numbers
            } else if day == nil, let number = leadingNumber(token, 1...2) {
                day = number
            } else if month == nil, let number = Self.month(ArraySlice(token.prefix(3).map(\.asciiLowercased))) {
                month = number
            } else if year == nil, let number = leadingNumber(token, 2...4) {
                year = number < 70 ? number + 2000 : number < 100 ? number + 1900 : number
            }
        }
        guard let clock, let day, let month, let year, year >= 1601, clock[2] < 60 else { return nil }
        return time(year: year, month: month, day: day, hour: clock[0], minute: clock[1], second: clock[2])
    }

    /// Formats a date as `Sun, 06 Nov 1994 08:49:37 GMT`, clamped to the first and last second of the years 0 to 9999.
    package static func text(_ time: WallTime) -> String {
        let seconds = min(max(floored(time.milliseconds, 1000), -62_167_219_200), 253_402_300_799)
        let day = floored(seconds, 86_400)
        let second = seconds - day * 86_400
        let (year, month, date) = civil(day)
        let names = [days[Int(((day + 3) % 7 + 7) % 7)], months[month - 1]].map {
            $0.prefix(1).uppercased() + $0.dropFirst()
        }
        let clock = [second / 3600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
        return "\(names[0]), \(padded(Int64(date), 2)) \(names[1]) \(padded(year, 4)) \(clock) GMT"
    }

    // MARK: Formats

    /// The format that servers send, whose parts all have fixed lengths. Letters and digits stand for any.
    private static let fixedForm = Array("sun, 06 nov 1994 08:49:37 gmt".utf8)

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    private static func fixed(_ text: ArraySlice<UInt8>) -> WallTime? {
        let start = text.startIndex
        func part(_ offset: Int, _ count: Int) -> ArraySlice<UInt8> { text[start + offset..<start + offset + count] }
        guard part(3, 2).elementsEqual(fixedForm[3..<5]), text[start + 7] == 0x20, text[start + 11] == 0x20,
            text[start + 16] == 0x20, part(25, 4).elementsEqual(fixedForm[25...]), isIn(part(0, 3), days),
            let month = month(part(8, 3)), let year = digits(part(12, 4), 4), let day = digits(part(5, 2), 2)
        else { return nil }
        return time(year: year, month: month, day: day, clock: part(17, 8))
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    private static func rfc850(_ words: [ArraySlice<UInt8>], now: WallTime) -> WallTime? {
        guard words[0].last == .comma, isIn(words[0].dropLast(), longDays), isIn(words[3], ["gmt"]) else {
            return nil
        }
        let date = words[1].split(separator: .dash, omittingEmptySubsequences: false)
        guard date.count == 3, let day = digits(date[0], 2), let month = month(date[1]), let short = digits(date[2], 2)
        else { return nil }
        let (year, _, _) = civil(floored(now.milliseconds, 86_400_000))
        // Choose the latest year with these digits that is at most 50 years ahead.
        for century in [year / 100 + 1, year / 100, year / 100 - 1] {
            guard let time = time(year: century * 100 + short, month: month, day: day, clock: words[2]) else {
                continue
            }
            if time <= later(now, byYears: 50) { return time }
        }
        return nil
    }

    /// `Sun Nov  6 08:49:37 1994`
    private static func asctime(_ words: [ArraySlice<UInt8>]) -> WallTime? {
        var words = words
        if words.count == 6 {
            // A second space precedes a day of one digit, and may not occur elsewhere.
            guard words[2].isEmpty, words[3].count == 1 else { return nil }
            words.remove(at: 2)
        } else if words[2].count != 2 {
            return nil
        }
        guard isIn(words[0], days), let month = month(words[1]), let year = digits(words[4], 4),
            let day = digits(words[2], words[2].count)
        else { return nil }
        return time(year: year, month: month, day: day, clock: words[3])
    }

    // MARK: Parts

    private static func time(year: Int64, month: Int, day: Int64, clock: ArraySlice<UInt8>) -> WallTime? {
        let (start, colon) = (clock.startIndex, UInt8(ascii: ":"))
        guard clock.count == 8, clock[start + 2] == colon, clock[start + 5] == colon,
            let hour = digits(clock[start..<start + 2], 2), let minute = digits(clock[start + 3..<start + 5], 2),
            let second = digits(clock[start + 6..<start + 8], 2)
        else { return nil }
        return time(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }

    private static func time(
        year: Int64, month: Int, day: Int64, hour: Int64, minute: Int64, second: Int64
    ) -> WallTime? {
        guard hour < 24, minute < 60, second <= 60 else { return nil }
        let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let length: Int64 = month == 2 ? (isLeapYear ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
        guard day >= 1, day <= length else { return nil }
        let seconds = dayNumber(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
        return WallTime(milliseconds: seconds * 1000)
    }

    private static func later(_ time: WallTime, byYears years: Int64) -> WallTime {
        time.adding(milliseconds: years * 31_556_952_000)
    }

    private static func isIn(_ bytes: some Sequence<UInt8>, _ words: [String]) -> Bool {
        words.contains { bytes.elementsEqual($0.utf8) }
    }

    private static func month(_ bytes: ArraySlice<UInt8>) -> Int? {
        months.firstIndex { bytes.elementsEqual($0.utf8) }.map { $0 + 1 }
    }

    private static func digits(_ bytes: ArraySlice<UInt8>, _ count: Int) -> Int64? {
        bytes.count == count ? FieldScanner.number(bytes) : nil
    }

    private static func isCookieDateDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Returns the number with which a token begins, if it has that many digits.
    ///
    /// - Parameter endsHere: whether nothing may follow the digits.
    private static func leadingNumber(
        _ token: ArraySlice<UInt8>, _ count: ClosedRange<Int>, endsHere: Bool = false
    ) -> Int64? {
        let digits = token.prefix { $0.isDigit }
        guard count.contains(digits.count), !endsHere || digits.count == token.count else { return nil }
        return FieldScanner.number(digits)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }

    /// Returns the quotient, rounded down.
    private static func floored(_ number: Int64, _ divisor: Int64) -> Int64 {
        number / divisor - (number % divisor < 0 ? 1 : 0)
    }

    /// Returns the days since 1970-01-01 in the Gregorian calendar. Years are counted from March, so that the leap day
    /// is at the end.
    private static func dayNumber(_ year: Int64, _ month: Int, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = floored(year, 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * Int64((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ dayNumber: Int64) -> (year: Int64, month: Int, day: Int) {
        let day = dayNumber + 719_468
        let era = floored(day, 146_097)
        let dayOfEra = day - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = Int(shifted < 10 ? shifted + 3 : shifted - 9)
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, Int(dayOfYear - (153 * shifted + 2) / 5 + 1))
    }
}

/// A date, in milliseconds since 1970-01-01 00:00 UTC. Wall clocks may jump in both directions.
public struct WallTime: Hashable, Comparable, Sendable {
    /// The milliseconds since 1970-01-01 00:00 UTC; negative for earlier dates.
    public var milliseconds: Int64

    /// Creates a date from the milliseconds since 1970-01-01 00:00 UTC.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Creates a date from the seconds since 1970-01-01 00:00 UTC, rounded to milliseconds and saturated to the range.
    /// NaN counts as 0.
    public init(secondsSince1970 seconds: Double) {
        let scaled = seconds * 1000
        milliseconds = scaled.isNaN ? 0 : Int64(exactly: scaled.rounded()) ?? (scaled < 0 ? .min : .max)
    }

    public static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

extension WallTime {
    /// Returns the date that many milliseconds later. Saturates.
    package func adding(milliseconds: Int64) -> WallTime {
        let sum = self.milliseconds.addingReportingOverflow(milliseconds)
        return WallTime(milliseconds: sum.overflow ? (milliseconds < 0 ? .min : .max) : sum.partialValue)
    }

    /// Returns by how much this is later than `other`; negative if it is earlier. Saturates.
    package func milliseconds(since other: WallTime) -> Int64 {
        let difference = milliseconds.subtractingReportingOverflow(other.milliseconds)
        return difference.overflow ? (milliseconds < other.milliseconds ? .min : .max) : difference.partialValue
    }
}

extension EngineClock {
    /// The current date.
    var wallTime: WallTime { WallTime(secondsSince1970: secondsSince1970()) }
}
