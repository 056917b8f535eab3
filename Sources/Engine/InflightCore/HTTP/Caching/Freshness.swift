/// The age and the freshness lifetime of a response (RFC 9111 section 4.2), in milliseconds. Nothing overflows, and no
/// age is negative, whatever clocks and servers state.
package struct Freshness: Hashable, Sendable {
    package var age: Int64
    package var lifetime: Int64
    /// Whether the clock is before the time at which the response was received. Its age is then unknown, and only the
    /// origin can validate it.
    package var isUnknown: Bool

    /// The time in milliseconds by which a clock may go back without being considered wrong.
    static let tolerance: Int64 = 60_000
    /// The heuristically cacheable statuses (RFC 9110 section 15.1).
    package static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    /// - Parameter control: the directives of `stored`, if they have been parsed.
    package init(of stored: StoredResponse, _ control: CacheControl? = nil, at now: WallTime) {
        age = Self.age(of: stored, at: now)
        lifetime = Self.lifetime(of: stored, control ?? stored.cacheControl)
        isUnknown = now.milliseconds(since: stored.responseTime) < -Self.tolerance
    }

    package var isFresh: Bool { !isUnknown && lifetime > age }

    /// The time since the response became stale; negative while it is fresh.
    package var staleness: Int64 { age - lifetime }

    /// The value of `Age` (RFC 9111 section 5.1).
    package var ageInSeconds: Int64 { age / 1000 }

    /// Returns the current age (RFC 9111 section 4.2.3).
    private static func age(of stored: StoredResponse, at now: WallTime) -> Int64 {
        // `Date` is truncated to seconds, so compare seconds. Otherwise each response would seem up to one second old.
        let received = WallTime(milliseconds: stored.responseTime.milliseconds / 1000 * 1000)
        let apparentAge = max(0, received.milliseconds(since: stored.date))
        let delay = max(0, stored.responseTime.milliseconds(since: stored.requestTime))
        let initialAge = max(apparentAge, sum(statedAge(of: stored), delay))
        return sum(initialAge, max(0, now.milliseconds(since: stored.responseTime)))
    }

    /// Returns the first member of the first line of `Age`; 0 if it is not a number (RFC 9111 section 5.1).
    private static func statedAge(of stored: StoredResponse) -> Int64 {
        guard let line = stored.head.fields.rawValues("age").first,
            let first = line.split(separator: .comma, omittingEmptySubsequences: false).first
        else { return 0 }
        return (FieldScanner.seconds(FieldScanner.trimmed(first)) ?? 0) * 1000
    }

    /// Returns the freshness lifetime (RFC 9111 sections 4.2.1 and 4.2.2).
    private static func lifetime(of stored: StoredResponse, _ control: CacheControl) -> Int64 {
        if let maxAge = control.maxAge { return maxAge * 1000 }
        if let expires = stored.head.fields.rawValues("expires").first {
            // A malformed date counts as past (RFC 9111 section 5.3).
            guard let expires = HTTPDate.parse(expires, now: stored.responseTime) else { return 0 }
            return max(0, expires.milliseconds(since: stored.date))
        }
        guard heuristicStatuses.contains(stored.head.status) || control.isPublic,
            let lastModified = stored.lastModified
        else { return 0 }
        return max(0, stored.date.milliseconds(since: lastModified)) / 10
    }

    /// Returns the sum of non-negative numbers, limited to half of the range so that the results can be subtracted.
    private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
        let sum = first.addingReportingOverflow(second)
        return sum.overflow ? .max / 2 : min(sum.partialValue, .max / 2)
    }
}
