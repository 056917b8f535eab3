/// The `Retry-After` field: the time after which a server accepts requests again (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// Returns the time to wait from `now`, in milliseconds, given as seconds or as a date; 0 if the date has passed.
    /// `nil` if the field is missing or malformed.
    package static func milliseconds(_ fields: HTTPFields, now: WallTime) -> Int64? {
        guard let line = fields.rawValues("retry-after").first else { return nil }
        let value = FieldScanner.trimmed(line)
        if let seconds = FieldScanner.seconds(value) { return seconds * 1000 }
        return HTTPDate.parse(value, now: now).map { max(0, $0.milliseconds(since: now)) }
    }
}
