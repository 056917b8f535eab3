internal import Synchronization

/// How long images of one response may be served from memory without revalidation. All these images share it, whatever
/// their size and processors, so that one write freshens or supersedes all of them.
///
/// Cost of a check: an atomic load and a comparison for each of the two times.
final class ImageLifetime: Sendable {
    /// Whether the images may be kept in memory.
    let mayBeKept: Bool
    private let expiry: Atomic<Int64>
    private let received: Atomic<Int64>
    private let mayBeServedStale: Atomic<Bool>
    /// The lifetime of the redirect's target. Both lifetimes have to be fresh.
    private let target: ImageLifetime?

    private static let superseded = Int64.min

    /// A lifetime for images that may be stale: never fresh.
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

    /// Creates the lifetime of a response reached by redirects, which are stale from `expiry` on.
    init(of target: ImageLifetime, redirectedUntil expiry: WallTime) {
        mayBeKept = target.mayBeKept
        self.expiry = Atomic(expiry.milliseconds)
        received = Atomic(target.received.load(ordering: .relaxed))
        mayBeServedStale = Atomic(true)
        self.target = target
    }

    /// Whether HTTP allows the images to be served at `now`. `false` if the clock is set to a time before the response.
    func isFresh(at now: WallTime) -> Bool {
        now.milliseconds < expiry.load(ordering: .relaxed)
            && now.milliseconds >= received.load(ordering: .relaxed) - Freshness.tolerance
            && target?.isFresh(at: now) ?? true
    }

    /// Whether a newer response of the resource is known.
    var isSuperseded: Bool {
        expiry.load(ordering: .relaxed) == Self.superseded || target?.isSuperseded ?? false
    }

    /// Whether stale images may be served, to a request that prefers cached ones.
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
