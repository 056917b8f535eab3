internal import Synchronization

/// How long images made of one response may be served from memory without asking: shared by all of them, whatever their
/// size and processors, so that one write makes all of them fresh again, or useless.
///
/// Cost of a look: an atomic load and a comparison for each of the two times.
final class ImageLifetime: Sendable {
    /// Whether they may be kept in memory.
    let mayBeKept: Bool
    private let expiry: Atomic<Int64>
    private let received: Atomic<Int64>
    private let mayBeServedStale: Atomic<Bool>
    /// Of the response that a redirect led to: both have to be fresh.
    private let target: ImageLifetime?

    private static let superseded = Int64.min

    /// Of what may be stale: never fresh.
    static var expired: ImageLifetime {
        let time = WallTime(milliseconds: 0)
        let freshness = MemoryFreshness(mayBeKept: true, expiry: time, mayBeServedStale: false)
        return ImageLifetime(freshness, receivedAt: time)
    }

    init(_ freshness: MemoryFreshness, receivedAt time: WallTime) {
        mayBeKept = freshness.mayBeKept
        expiry = Atomic(freshness.expiry.milliseconds)
        received = Atomic(time.milliseconds)
        mayBeServedStale = Atomic(freshness.mayBeServedStale)
        target = nil
    }

    /// Of a response that redirects have led to, which are stale from `expiry` on.
    init(of target: ImageLifetime, redirectedUntil expiry: WallTime) {
        mayBeKept = target.mayBeKept
        self.expiry = Atomic(expiry.milliseconds)
        received = Atomic(target.received.load(ordering: .relaxed))
        mayBeServedStale = Atomic(true)
        self.target = target
    }

    /// Whether HTTP lets them be served at `now`. Unknown, and so `false`, where the clock went back behind the response.
    func isFresh(at now: WallTime) -> Bool {
        now.milliseconds < expiry.load(ordering: .relaxed)
            && now.milliseconds >= received.load(ordering: .relaxed) - Freshness.tolerance
            && target?.isFresh(at: now) ?? true
    }

    /// Whether a newer response of the resource is known.
    var isSuperseded: Bool {
        expiry.load(ordering: .relaxed) == Self.superseded || target?.isSuperseded ?? false
    }

    /// Whether they may be served when they are stale, to a request that prefers what is cached.
    var allowsStale: Bool {
        mayBeServedStale.load(ordering: .relaxed) && !isSuperseded && target?.allowsStale ?? true
    }

    func freshen(_ freshness: MemoryFreshness, receivedAt time: WallTime) {
        received.store(time.milliseconds, ordering: .relaxed)
        mayBeServedStale.store(freshness.mayBeServedStale, ordering: .relaxed)
        expiry.store(freshness.expiry.milliseconds, ordering: .relaxed)
    }

    func supersede() { expiry.store(Self.superseded, ordering: .relaxed) }
}
