internal import Synchronization

/// The newest known response of each resource that has images in memory. A newer response affects every image made from
/// an older one.
///
/// A value type without locks and clocks. It also retains lifetimes without images, and removes them each time its size
/// has doubled. So its memory stays in proportion to the number of images.
struct LifetimeTable {
    /// A resource, as identified by a request.
    struct Key {
        /// Its URL or its identity.
        var name: String
        /// Method, fields and body of the request, if not the defaults. Secrets are a keyed hash.
        var rest: [UInt8] = []
    }

    /// The source of a response.
    enum Source {
        /// The origin has just sent it.
        case origin
        /// It was stored, and the origin has just confirmed it.
        case revalidated
        case stored
    }

    private struct Entry {
        var rest: [UInt8]
        var response: StoredResponse
        var lifetime: ImageLifetime
    }

    private var entries: [String: [Entry]] = [:]
    private(set) var count = 0
    private var sweepsAt = 256

    /// A response was received, and images are made of it.
    ///
    /// - Returns: the lifetime of these images.
    mutating func received(_ response: StoredResponse, for key: Key, from source: Source) -> ImageLifetime {
        let freshness = MemoryFreshness(of: response)
        let lifetime = ImageLifetime(freshness, receivedAt: response.responseTime)
        guard let index = entries[key.name]?.firstIndex(where: { $0.rest == key.rest }),
            let old = entries[key.name]?[index]
        else {
            if freshness.mayBeKept { insert(Entry(rest: key.rest, response: response, lifetime: lifetime), key.name) }
            return lifetime
        }
        let isNewer = source != .stored || response.responseTime > old.response.responseTime
        if freshness.mayBeKept, old.lifetime.mayBeKept, !old.lifetime.isSuperseded,
            response.isSame(as: old.response, source)
        {
            guard isNewer else { return old.lifetime }
            old.lifetime.freshen(freshness, receivedAt: response.responseTime)
            entries[key.name]?[index].response = response
            return old.lifetime
        }
        guard isNewer else {
            lifetime.supersede()
            return lifetime
        }
        old.lifetime.supersede()
        entries[key.name]?[index] = Entry(rest: key.rest, response: response, lifetime: lifetime)
        return lifetime
    }

    /// A response was received, and no image is made of it. It affects existing images.
    mutating func noticed(_ response: StoredResponse, for key: Key, from source: Source) {
        guard let list = entries[key.name], list.contains(where: { $0.rest == key.rest }) else { return }
        _ = received(response, for: key, from: source)
    }

    /// The origin has another response, or none, for this request.
    func superseded(_ key: Key) {
        for entry in entries[key.name] ?? [] where entry.rest == key.rest { entry.lifetime.supersede() }
    }

    /// All responses of a URL are invalid, whatever the request (RFC 9111 section 4.4).
    func invalidated(_ url: String) {
        for entry in entries[url] ?? [] { entry.lifetime.supersede() }
    }

    private mutating func insert(_ entry: Entry, _ name: String) {
        if count >= sweepsAt { sweep() }
        entries[name, default: []].append(entry)
        count += 1
    }

    private mutating func sweep() {
        for name in Array(entries.keys) {
            guard var list = entries.removeValue(forKey: name) else { continue }
            for index in list.indices.reversed() where isKnownUniquelyReferenced(&list[index].lifetime) {
                list.remove(at: index)
                count -= 1
            }
            if !list.isEmpty { entries[name] = list }
        }
        sweepsAt = max(256, 2 * count)
    }
}

extension StoredResponse {
    /// Whether images made from `older` are valid for this response too.
    fileprivate func isSame(as older: StoredResponse, _ source: LifetimeTable.Source) -> Bool {
        if source == .origin { return older.sharesStrongValidator(with: head.fields) }
        if let entityTag { return older.entityTag.map { entityTag.weaklyEquals($0) } ?? false }
        guard older.entityTag == nil else { return false }
        if (requestTime, responseTime) == (older.requestTime, older.responseTime) { return true }
        return lastModified != nil && lastModified == older.lastModified
    }
}

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

    /// A lifetime for images that are not kept in memory.
    static var onlyForTasksInFlight: ImageLifetime {
        let time = WallTime(milliseconds: 0)
        return ImageLifetime(
            MemoryFreshness(mayBeKept: false, expiry: time, mayBeServedStale: false), receivedAt: time)
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

    /// Returns the time until it is stale; zero if it is.
    func remaining(at now: WallTime) -> Duration {
        guard isFresh(at: now) else { return .zero }
        let own = Duration.milliseconds(expiry.load(ordering: .relaxed) - now.milliseconds)
        return min(own, target?.remaining(at: now) ?? own)
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
