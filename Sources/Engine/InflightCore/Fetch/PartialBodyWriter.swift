import InflightConcurrency

/// Stores the first part of a long body while the rest is received, so that it outlives the process.
///
/// One write is in flight at a time. Bytes that arrive meanwhile wait for the next write, so a slow disk reduces the
/// number of writes and takes no memory. The complete body replaces the part.
// Unchecked: all mutable state is accessed only while the object's stripe of locks is held.
final class PartialBodyWriter: @unchecked Sendable {
    /// The number of new bytes after which a part is written.
    static let step = 512 * 1024

    private let store: any ResponseStore
    /// Tracks the writes, so that waiting for the store includes them.
    private let storage: ResponseStorage
    private let key: StoreKey
    private let incoming: IncomingResponse
    private var id: StoredEntry.ID?
    private var keptBytes = 0
    private var isWriting = false
    private var isOver = false

    /// - Parameter incoming: the response to store, as it is before its first byte.
    init(_ store: any ResponseStore, _ storage: ResponseStorage, key: StoreKey, incoming: IncomingResponse) {
        self.store = store
        self.storage = storage
        self.key = key
        self.incoming = incoming
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        LockStripes.stripe(for: self).lock.withLock(body)
    }

    /// The body has grown to this number of bytes.
    ///
    /// - Parameter copy: returns the bytes from an offset on.
    func noticed(_ count: Int, copy: (Int) -> Bytes) {
        let start: Int? = locked {
            guard !isWriting, !isOver, count - keptBytes >= Self.step else { return nil }
            isWriting = true
            return keptBytes
        }
        guard let start else { return }
        let bytes = copy(start)
        let isTaken = storage.submit(bytes: bytes.count) { done in
            write(bytes, at: start) { [self] id in
                // Submit follow-up work before this write counts as done, so that a wait for the store covers both.
                wrote(id, upTo: start + bytes.count)
                done()
            }
        }
        // Too many bytes already wait for the store. A later call may succeed.
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
            // After the store has rejected a part, no other part of this body is written.
            if id == nil { isOver = true }
            return isOver
        }
        if isLate, let id { storage.submit { store.remove([id], completion: $0) } }
    }

    /// Stops writing, and returns the entry that holds the part, if it is already stored. An entry that is still being
    /// written is removed as soon as it is stored.
    func end() -> StoredEntry.ID? {
        locked {
            isOver = true
            return isWriting ? nil : id
        }
    }
}
