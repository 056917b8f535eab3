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
    private let key: StoreKey
    private let incoming: IncomingResponse
    private var id: StoredEntry.ID?
    private var keptBytes = 0
    private var isWriting = false
    private var isOver = false

    /// - Parameter incoming: what is kept, as it is before its first byte.
    init(_ store: any ResponseStore, key: StoreKey, incoming: IncomingResponse) {
        self.store = store
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
        let id = locked { self.id }
        if let id {
            store.extend(id, by: bytes, at: Int64(start)) { [self] isKept in
                wrote(isKept ? id : nil, upTo: start + bytes.count)
            }
        } else if let part = incoming.ended(after: Int64(bytes.count), isWhole: false) {
            store.keep(part, body: bytes, under: key, replacing: []) { [self] id in wrote(id, upTo: bytes.count) }
        } else {
            wrote(nil, upTo: 0)
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
        if isLate, let id { store.remove([id]) {} }
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
