/// When a server says that it may be asked again (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// How long to wait from `now`, in milliseconds: seconds, or until a date, 0 where that has passed. `nil` where the
    /// field is not there or cannot be read.
    package static func milliseconds(_ fields: HTTPFields, now: WallTime) -> Int64? {
        guard let line = fields.rawValues("retry-after").first else { return nil }
        let value = FieldScanner.trimmed(line)
        if let seconds = FieldScanner.seconds(value) { return seconds * 1000 }
        return HTTPDate.parse(value, now: now).map { max(0, $0.milliseconds(since: now)) }
    }
}
