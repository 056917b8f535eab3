import InflightConcurrency

/// What one fetch reads from the store, and means to write to it, for one URL on its way.
// Unchecked: guarded as the job's `Work` is: by the store's calls before the exchange, and after its end, and by the
// transport's in between.
final class CacheTransaction: @unchecked Sendable {
    let key: StoreKey
    let request: CachingRequest
    /// What is stored, as it was found.
    var found: [StoredEntry] = []
    /// How often it was looked for: each time a body had vanished.
    var lookUps = 0
    /// How the request goes out.
    var exchange = CacheExchange()
    var requestTime = WallTime(milliseconds: 0)
    var responseTime = WallTime(milliseconds: 0)
    /// What is given to the caller of that which is stored, as it is stored from now on.
    var representation: StoredResponse?
    /// The entry that holds the body, or will.
    var entry: StoredEntryReference?
    /// What the answer means for the store.
    var changes = StoreChanges()
    /// The body as it came from its first byte on, where the job's own buffer does not hold the same.
    var raw = BodyBuffer()
    /// Keeps the first part of a long body while the rest comes.
    var keeper: PartKeeper?

    init(key: StoreKey, request: CachingRequest) {
        self.key = key
        self.request = request
    }

    /// What the answer means for the store, once.
    func takeChanges() -> StoreChanges {
        defer { changes = StoreChanges() }
        return changes
    }

    /// What is kept of the body that comes; `nil` for nothing.
    var incoming: IncomingResponse? {
        switch changes.keeping {
        case .nothing: nil
        case .new(let incoming, _), .extending(_, let incoming, _): incoming
        }
    }
}
