/// The key under which responses are stored. Responses to different requests for one resource share it, and are told
/// apart by their ``StoredResponse/varyFields``.
///
/// It is the same in every process and in every version of one layout. It is made from the cache identity or the URL,
/// and not from anything that changes with the process, unlike the keys of jobs in memory.
public struct StoreKey: Hashable, Sendable {
    /// The resource as shown in lists: a URL without credentials and fragment, or an identity.
    public var text: String

    /// Creates a key from its text. Keys with equal texts are equal.
    public init(_ text: String) {
        self.text = text
    }
}

/// One response in a store.
public struct StoredEntry: Sendable, Hashable {
    /// An entry's identifier, valid in every process while the entry exists. It is never reused.
    public struct ID: Hashable, Sendable {
        /// The number of the entry, chosen by the store.
        public var rawValue: Int64

        /// Creates an identifier, in a store.
        public init(rawValue: Int64) {
            self.rawValue = rawValue
        }
    }

    /// The identifier of the entry.
    public var id: ID
    /// The data stored beside the body.
    public var response: StoredResponse

    /// Creates an entry, in a store that has found it.
    public init(id: ID, response: StoredResponse) {
        self.id = id
        self.response = response
    }
}

/// A store for responses that outlives the process: the disk cache, or a replacement by a test or a program.
///
/// It only stores and finds; the rules of HTTP decide how its entries may be used. Every call returns at once, may be
/// made from any thread, does not access files on the caller's thread, and calls back exactly once, on one of the
/// store's own threads and never inside the call. A broken store (its disk is full, its folder is gone) finds nothing
/// and stores nothing; no load fails because of it.
public protocol ResponseStore: AnyObject, Sendable {
    /// Finds the entries under `key`, newest first, and reads the body of one in the same step.
    ///
    /// - Parameters:
    ///   - key: the key of the entries.
    ///   - choose: called on the store's thread, with no lock held; returns the position of the entry whose body to
    ///     read, or `nil` for none. It must not block.
    ///   - completion: called with the entries and the chosen entry's bytes. If the body is damaged or has vanished, it
    ///     is `nil`, and its entry is removed from the store and from `found`.
    func find(
        _ key: StoreKey, choose: @escaping @Sendable (_ found: [StoredEntry]) -> Int?,
        completion: @escaping @Sendable (_ found: [StoredEntry], _ body: StoredBody?) -> Void)

    /// Stores a response with its complete body, or with the part that its ``StoredResponse/bodyRange`` states.
    ///
    /// - Parameters:
    ///   - response: the data to store beside the body.
    ///   - body: the bytes, in the response's content coding.
    ///   - key: the key under which ``find(_:choose:completion:)`` finds the entry.
    ///   - replaced: the entries that it replaces in the same step: either all of that is done, or nothing.
    ///   - completion: called with the entry once it would outlive the process; `nil` if it was not stored.
    func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void)

    /// Stores a response as ``keep(_:body:under:replacing:completion:)`` does, in place of other entries too.
    ///
    /// Another process that shares the store may have stored a response to the same request since the last lookup. A
    /// store that several processes share implements this call, so that one of the two remains.
    ///
    /// - Parameters:
    ///   - response: the data to store beside the body.
    ///   - body: the bytes, in the response's content coding.
    ///   - key: the key under which ``find(_:choose:completion:)`` finds the entry.
    ///   - replaced: the entries that it replaces in the same step.
    ///   - others: called with the entries under `key` at the time of that step, newest first, on the store's thread,
    ///     perhaps more than once. Returns which of them are replaced too, or `nil` if the response is not to be
    ///     stored. It must not block.
    ///   - completion: called with the entry once it would outlive the process; `nil` if it was not stored.
    func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        andAmong others: @escaping @Sendable (_ found: [StoredEntry]) -> [StoredEntry.ID]?,
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void)

    /// Appends bytes to an entry that holds the first part of a body, while the rest is received.
    ///
    /// - Parameters:
    ///   - id: the entry.
    ///   - bytes: the bytes to append.
    ///   - offset: the number of bytes of the body before these.
    ///   - completion: called with whether they were stored; if not, the entry is unchanged or gone.
    func extend(
        _ id: StoredEntry.ID, by bytes: Bytes, at offset: Int64, completion: @escaping @Sendable (Bool) -> Void)

    /// Changes the data stored beside the body, after a 304 or when a body's last bytes were received.
    ///
    /// - Parameters:
    ///   - id: the entry.
    ///   - response: the new data.
    ///   - completion: called with whether the entry still existed.
    func update(
        _ id: StoredEntry.ID, to response: StoredResponse, completion: @escaping @Sendable (Bool) -> Void)

    /// Removes entries, and calls `completion` when they are removed. Missing entries are ignored.
    func remove(_ ids: [StoredEntry.ID], completion: @escaping @Sendable () -> Void)

    /// Removes all entries under `key`, and calls `completion` when they are removed.
    func removeAll(under key: StoreKey, completion: @escaping @Sendable () -> Void)

    /// Returns when all earlier calls are done and all threads and files are released. Later calls find nothing and
    /// store nothing.
    func shutdown() async
}

extension ResponseStore {
    /// Stores a response without looking at other entries, as a store that one process uses may do.
    public func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        andAmong others: @escaping @Sendable (_ found: [StoredEntry]) -> [StoredEntry.ID]?,
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void
    ) {
        keep(response, body: body, under: key, replacing: replaced, completion: completion)
    }
}

/// The verified bytes of one entry.
public struct StoredBody: Sendable {
    /// The position of its entry in the entries found.
    public var position: Int
    /// The bytes, as they were stored: in the response's content coding.
    public var bytes: Bytes

    /// Creates the body of an entry.
    ///
    /// - Parameters:
    ///   - position: the position of its entry in the entries found.
    ///   - bytes: the bytes as they were stored, which the store has verified.
    public init(position: Int, bytes: Bytes) {
        self.position = position
        self.bytes = bytes
    }
}
