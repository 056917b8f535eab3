/// How old an answer is and how old it may get (RFC 9111 section 4.2), in milliseconds. Nothing overflows, and no age is
/// below zero, whatever clocks and servers say.
package struct Freshness: Hashable, Sendable {
    package var age: Int64
    package var lifetime: Int64
    /// The clock stands before the time at which the answer came: how old it is cannot be known, and only the origin can
    /// say whether it holds.
    package var isUnknown: Bool

    /// What a clock may go back by without being thought to be wrong.
    static let tolerance: Int64 = 60_000
    /// The statuses that may be kept without being told how long (RFC 9110 section 15.1).
    package static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    package init(of stored: StoredResponse, at now: WallTime) {
        age = Self.age(of: stored, at: now)
        lifetime = Self.lifetime(of: stored)
        isUnknown = now.milliseconds(since: stored.responseTime) < -Self.tolerance
    }

    package var isFresh: Bool { !isUnknown && lifetime > age }

    /// By how much it is over its time; negative while it is fresh.
    package var staleness: Int64 { age - lifetime }

    /// What `Age` says (RFC 9111 section 5.1).
    package var ageInSeconds: Int64 { age / 1000 }

    /// RFC 9111 section 4.2.3.
    private static func age(of stored: StoredResponse, at now: WallTime) -> Int64 {
        // A `Date` is cut to the second: compared to the second, or each answer would seem up to one second old.
        let received = WallTime(milliseconds: stored.responseTime.milliseconds / 1000 * 1000)
        let apparentAge = max(0, received.milliseconds(since: stored.date))
        let delay = max(0, stored.responseTime.milliseconds(since: stored.requestTime))
        let initialAge = max(apparentAge, sum(statedAge(of: stored), delay))
        return sum(initialAge, max(0, now.milliseconds(since: stored.responseTime)))
    }

    /// The first member of the first line of `Age`; what is no number is passed over (RFC 9111 section 5.1).
    private static func statedAge(of stored: StoredResponse) -> Int64 {
        guard let line = stored.head.fields.rawValues("age").first,
            let first = line.split(separator: .comma, omittingEmptySubsequences: false).first
        else { return 0 }
        return (FieldScanner.seconds(FieldScanner.trimmed(first)) ?? 0) * 1000
    }

    /// RFC 9111 sections 4.2.1 and 4.2.2.
    private static func lifetime(of stored: StoredResponse) -> Int64 {
        let control = stored.cacheControl
        if let maxAge = control.maxAge { return maxAge * 1000 }
        if let expires = stored.head.fields.rawValues("expires").first {
            // What cannot be read is in the past (RFC 9111 section 5.3).
            guard let expires = HTTPDate.parse(expires, now: stored.responseTime) else { return 0 }
            return max(0, expires.milliseconds(since: stored.date))
        }
        guard heuristicStatuses.contains(stored.head.status) || control.isPublic,
            let lastModified = stored.lastModified
        else { return 0 }
        return max(0, stored.date.milliseconds(since: lastModified)) / 10
    }

    /// Of two numbers that are not negative. Half of the range, so that ages and lifetimes can be subtracted.
    private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
        let sum = first.addingReportingOverflow(second)
        return sum.overflow ? .max / 2 : min(sum.partialValue, .max / 2)
    }
}
