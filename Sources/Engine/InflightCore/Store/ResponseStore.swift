/// What answers are found by in a store: a digest of whatever makes two requests ask for the same thing.
///
/// The same in every process and in every version of one layout: it is made of the cache identity or the URL (and of
/// nothing that changes with the process, as the keys of jobs in memory are).
public struct StoreKey: Hashable, Sendable {
    /// What is asked for, as it is shown in lists: a URL without credentials and fragment, or an identity.
    public var text: String

    public init(_ text: String) {
        self.text = text
    }
}

/// One answer in a store.
public struct StoredEntry: Sendable, Hashable {
    /// Names this entry of its store, in every process, as long as it is there; never used again.
    public struct ID: Hashable, Sendable {
        public var rawValue: Int64

        public init(rawValue: Int64) {
            self.rawValue = rawValue
        }
    }

    public var id: ID
    public var response: StoredResponse

    public init(id: ID, response: StoredResponse) {
        self.id = id
        self.response = response
    }
}

/// Keeps answers beyond the life of the process: the disk cache, or what a test or a program puts in its place.
///
/// It stores and finds; what may be done with what it found is HTTP's rules' to say. Every call returns at once, from any
/// thread, touches no file on the caller's thread, and calls back exactly once, on a thread of the store's own, never
/// inside the call. A store that is broken (its disk full, its folder gone) answers that it has nothing, and takes
/// nothing: no load fails because of it.
public protocol ResponseStore: AnyObject, Sendable {
    /// Looks for what is kept under `key`, newest first, and reads the body of one in the same turn.
    ///
    /// - Parameters:
    ///   - choose: called on the store's thread, with nothing held: the position of the entry whose body is to be read,
    ///     or `nil` for none. It must not block.
    ///   - completion: what was found, and the chosen entry's bytes. A body that was damaged or has vanished is no body:
    ///     its entry is gone from the store and from `found`.
    func find(
        _ key: StoreKey, choose: @escaping @Sendable (_ found: [StoredEntry]) -> Int?,
        completion: @escaping @Sendable (_ found: [StoredEntry], _ body: StoredBody?) -> Void)

    /// Keeps an answer with its whole body (or, where its ``StoredResponse/bodyRange`` says so, a part of one).
    ///
    /// - Parameters:
    ///   - replaced: entries that it takes the place of, in the same step: either all of that is done, or nothing.
    ///   - completion: the entry, once it would outlive the process; `nil` where it was not kept.
    func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void)

    /// Adds bytes to an entry that holds the first part of a body, while the rest still comes. `completion` is told
    /// whether they are kept; where not, the entry is as it was, or gone.
    func extend(
        _ id: StoredEntry.ID, by bytes: Bytes, at offset: Int64, completion: @escaping @Sendable (Bool) -> Void)

    /// Changes what is kept beside the body: after a 304, or when the last bytes of a body came. `completion` is told
    /// whether the entry was there still.
    func update(
        _ id: StoredEntry.ID, to response: StoredResponse, completion: @escaping @Sendable (Bool) -> Void)

    /// Lets go of entries; of those that are not there nothing is said.
    func remove(_ ids: [StoredEntry.ID], completion: @escaping @Sendable () -> Void)

    /// Lets go of everything under `key`.
    func removeAll(under key: StoreKey, completion: @escaping @Sendable () -> Void)

    /// Returns when everything that was asked has been done, and threads and files are let go of. Later calls find
    /// nothing and keep nothing.
    func shutdown() async
}

/// The bytes of one entry, checked.
public struct StoredBody: Sendable {
    /// Where in what was found its entry stands.
    public var position: Int
    public var bytes: Bytes

    public init(position: Int, bytes: Bytes) {
        self.position = position
        self.bytes = bytes
    }
}
