import InflightConcurrency

/// Keeps the first part of a long body in a store while the rest still comes, so that it outlives the process.
///
/// One write is under way at a time, and what comes meanwhile waits for the next, so a slow disk costs writes and no
/// memory. When the whole is there it takes the part's place.
// Unchecked: all that changes is touched only while the object's stripe of locks is held.
final class PartKeeper: @unchecked Sendable {
    /// A part is written when so much more of it is there.
    static let step = 512 * 1024

    private let store: any ResponseStore
    /// Whoever waits for the store waits for this too.
    private let storing: StoreWork
    private let key: StoreKey
    private let incoming: IncomingResponse
    private var id: StoredEntry.ID?
    private var keptBytes = 0
    private var isWriting = false
    private var isOver = false

    /// - Parameter incoming: what is kept, as it is before its first byte.
    init(_ store: any ResponseStore, _ storing: StoreWork, key: StoreKey, incoming: IncomingResponse) {
        self.store = store
        self.storing = storing
        self.key = key
        self.incoming = incoming
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        LockStripes.stripe(for: self).lock.withLock(body)
    }

    /// So many bytes of the body are there.
    ///
    /// - Parameter copy: gives those from an offset on.
    func noticed(_ count: Int, copy: (Int) -> Bytes) {
        let start: Int? = locked {
            guard !isWriting, !isOver, count - keptBytes >= Self.step else { return nil }
            isWriting = true
            return keptBytes
        }
        guard let start else { return }
        let bytes = copy(start)
        let isTaken = storing(bytes: bytes.count) { done in
            write(bytes, at: start) { [self] id in
                // What follows from it is begun before this is done: nobody who waits finds a gap.
                wrote(id, upTo: start + bytes.count)
                done()
            }
        }
        // Too much waits for the store already: later perhaps.
        if !isTaken { locked { isWriting = false } }
    }

    private func write(_ bytes: Bytes, at start: Int, completion: @escaping @Sendable (StoredEntry.ID?) -> Void) {
        if let id = locked({ self.id }) {
            store.extend(id, by: bytes, at: Int64(start)) { isKept in completion(isKept ? id : nil) }
        } else if let part = incoming.ended(after: Int64(bytes.count), isWhole: false) {
            store.keep(part, body: bytes, under: key, replacing: [], completion: completion)
        } else {
            completion(nil)
        }
    }

    private func wrote(_ id: StoredEntry.ID?, upTo count: Int) {
        let isLate = locked {
            isWriting = false
            self.id = id
            keptBytes = count
            // A store that does not take it is not asked again for this body.
            if id == nil { isOver = true }
            return isOver
        }
        if isLate, let id { storing { store.remove([id], completion: $0) } }
    }

    /// Nothing more is written. Gives the entry that holds the part, if there is one already; one that is still being
    /// written is let go of as soon as it is there.
    func end() -> StoredEntry.ID? {
        locked {
            isOver = true
            return isWriting ? nil : id
        }
    }
}
