import InflightConcurrency

/// The reads and writes of one fetch in the store, for one URL of its redirect chain.
// Unchecked: guarded like the job's `Work`. Callbacks of the store access it before the exchange and after its end,
// and callbacks of the transport in between.
final class CacheTransaction: @unchecked Sendable {
    let key: StoreKey
    let request: CachingRequest
    /// The stored entries, as they were found.
    var found: [StoredEntry] = []
    /// The processed images whose responses the exchange asks the origin to confirm, instead of those in ``found``.
    var images: [StoredEntry] = []
    /// The other processed images that are valid as long as ``images`` are.
    var siblings: [StoredEntry] = []
    /// The number of lookups. Another one follows each time a body has vanished.
    var lookUps = 0
    /// The changes to the request's header fields for this exchange.
    var exchange = CacheExchange()
    var requestTime = WallTime(milliseconds: 0)
    var responseTime = WallTime(milliseconds: 0)
    /// The stored response that is served to the caller, with its updates.
    var representation: StoredResponse?
    /// The entry that holds the body, or will hold it.
    var entry: StoredEntryReference?
    /// The changes of the store that the response requires.
    var changes = StoreChanges()
    /// The body as received from its first byte on, if the job's own buffer does not hold the same bytes.
    var raw = BodyBuffer()
    /// Stores the first part of a long body while the rest is received.
    var partWriter: PartialBodyWriter?

    init(key: StoreKey, request: CachingRequest) {
        self.key = key
        self.request = request
    }

    /// Returns the changes of the store that the response requires, and resets them.
    func takeChanges() -> StoreChanges {
        defer { changes = StoreChanges() }
        return changes
    }

    /// The response to store when its body is received; `nil` if it is not stored.
    var incoming: IncomingResponse? {
        switch changes.bodyStorage {
        case .nothing: nil
        case .new(let incoming, _), .extending(_, let incoming, _): incoming
        }
    }
}
