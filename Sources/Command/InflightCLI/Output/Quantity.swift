import InflightConcurrency

/// Formats numbers for people: English, decimal units, no more digits than useful.
enum Quantity {
    /// `1,234,567`.
    static func grouped(_ number: some BinaryInteger) -> String {
        let digits = String(number.magnitude)
        var text = number < 0 ? "-" : ""
        for (offset, digit) in digits.enumerated() {
            if offset > 0, (digits.count - offset) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// `1,230,000`: a positive number rounded to three digits.
    static func rounded(_ number: Int) -> String {
        var unit = 1
        while number / unit >= 1000 { unit *= 10 }
        return grouped(Int((Double(number) / Double(unit)).rounded()) * unit)
    }

    /// `831 B`, `4.2 kB`, `12 MB`.
    static func bytes(_ count: Int64) -> String {
        let units = ["kB", "MB", "GB", "TB", "PB"]
        if count < 1000 { return "\(count) B" }
        var value = Double(count) / 1000
        var unit = 0
        while value >= 999.5, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return "\(short(value)) \(units[unit])"
    }

    /// `35 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`.
    static func time(_ duration: Duration) -> String {
        let milliseconds = duration.saturatedNanoseconds / 1_000_000
        if milliseconds < 1000 { return "\(max(0, milliseconds)) ms" }
        let seconds = Double(milliseconds) / 1000
        if seconds < 59.95 { return "\(short(seconds)) s" }
        let whole = Int64(seconds.rounded())
        if whole < 3600 { return whole % 60 == 0 ? "\(whole / 60) min" : "\(whole / 60) min \(whole % 60) s" }
        let minutes = whole / 60
        if minutes < 48 * 60 {
            return minutes % 60 == 0 ? "\(minutes / 60) h" : "\(minutes / 60) h \(minutes % 60) min"
        }
        return "\(grouped(minutes / 1440)) days"
    }

    /// `1 file`, `2 files`.
    static func count(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? noun : plural ?? noun + "s")"
    }

    /// One decimal below ten, none above.
    private static func short(_ value: Double) -> String {
        if value >= 9.95 { return "\(Int(value.rounded()))" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
