@testable import InflightCore

extension Target {
    /// `Range` in the first line, `Content-Range` in the second, the complete length in the third.
    static let ranges = Target(name: "ranges") { bytes in
        let lines = bytes.lines
        let total = lines.count > 2 ? FieldScanner.number(lines[2]) ?? 100 : 100
        if case .one(let range) = RangeRequest(HTTPFields("Range", lines.prefix(1))) {
            if let resolved = range.resolved(total: total) {
                require(!resolved.isEmpty, "a satisfiable range is not empty")
                require(resolved.lowerBound >= 0 && resolved.upperBound <= total, "a range lies within the whole")
            }
            require(range.resolved(total: 0) == nil, "no range of an empty body is satisfiable")
        }
        guard let part = ContentRange(HTTPFields("Content-Range", lines.dropFirst().prefix(1))) else { return }
        if let range = part.range {
            require(!range.isEmpty && range.lowerBound >= 0, "a content range is not empty")
            require(range.upperBound <= part.total ?? .max, "a content range lies within the whole")
        } else {
            require(part.total != nil, "an unsatisfied range has a length")
        }
        let text = ContentRange.text(part.range, total: part.total)
        require(ContentRange(HTTPFields([("Content-Range", text)])) == part, "\(text) is the parsed field")
    }

    /// `Retry-After`, in both forms.
    static let retryAfter = Target(name: "retry-after") { bytes in
        let now = WallTime.example
        guard let wait = RetryAfter.milliseconds(HTTPFields("Retry-After", [bytes[...]]), now: now) else { return }
        require(wait >= 0, "the delay is not negative")
        // Write it as a date, if a date can express it.
        guard wait % 1000 == 0, wait < 200_000_000_000_000 else { return }
        let date = HTTPDate.text(now.adding(milliseconds: wait))
        let again = RetryAfter.milliseconds(HTTPFields([("Retry-After", date)]), now: now)
        require(again == wait, "\(date) is \(wait) ms away")
        let seconds = RetryAfter.milliseconds(HTTPFields([("Retry-After", "\(wait / 1000)")]), now: now)
        require(seconds == min(wait, 1000 << 31), "\(wait) ms equal the delay in seconds")
    }
}
