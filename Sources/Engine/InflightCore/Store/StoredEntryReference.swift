import InflightConcurrency

/// The store's entry for the body of a response, so that a body that turns out to be unusable can be removed, even
/// before the store has acknowledged it.
final class StoredEntryReference: Sendable {
    let key: StoreKey
    private let machine: Guarded<StoredEntryMachine>

    /// - Parameter id: the entry, if it is already stored.
    init(key: StoreKey, id: StoredEntry.ID? = nil) {
        self.key = key
        machine = Guarded(StoredEntryMachine(id: id))
    }

    /// The body is unusable.
    ///
    /// - Returns: the entry to remove now; `nil` if there is none, or none yet.
    func rejected() -> StoredEntry.ID? { machine.withLock { $0.rejected() } }

    /// The store has stored the body.
    ///
    /// - Returns: whether to remove the entry again.
    func kept(as id: StoredEntry.ID) -> Bool { machine.withLock { $0.kept(as: id) } }
}

/// Decides when to remove an entry whose body was rejected: once, after both the rejection and the entry's ID are
/// known, in either order.
struct StoredEntryMachine {
    private var id: StoredEntry.ID?
    private var isRejected = false

    init(id: StoredEntry.ID?) {
        self.id = id
    }

    mutating func rejected() -> StoredEntry.ID? {
        guard !isRejected else { return nil }
        isRejected = true
        return id
    }

    mutating func kept(as id: StoredEntry.ID) -> Bool {
        self.id = id
        return isRejected
    }
}

extension LoadError {
    /// Whether the bytes themselves are unusable. A limit, a cancellation or a missing codec does not mean that.
    var rejectsBody: Bool { code == .damaged || code == .notAnImage }
}
