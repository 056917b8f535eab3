import FoundationEssentials

/// Formats dates by RFC 3339, in UTC.
enum Timestamp {
    static func text(secondsSince1970 seconds: Double, fractions: Bool) -> String {
        // The years 0 to 9999.
        let seconds = min(max(seconds, -62_167_219_200), 253_402_300_799)
        return Date(timeIntervalSince1970: seconds)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: fractions))
    }
}
