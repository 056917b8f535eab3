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

/// Decides when to remove an entry whose body was rejected: once, in whichever order both become known.
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

extension Engine {
    /// Removes the stored bytes of a body that a decoder or a structure check rejects. A lookup after this call waits
    /// until they are removed.
    func reject(_ entry: StoredEntryReference?) {
        guard let store, let entry, let id = entry.rejected() else { return }
        log(.notice, "removing an unusable cache entry") { [("key", entry.key.text)] }
        let group = StoreGroup(storing, changing: [entry.key], nil)
        group { store.remove([id], completion: $0) }
        group.seal()
    }

    /// Checks that a body is an image, by its structure and optionally its pixels. Throws if it is not.
    ///
    /// - Parameter decodes: whether to decode the pixels if there is memory for that now. Takes as long as a decode.
    /// - Returns: whether they were decoded.
    func check(_ body: Bytes, of request: ImageRequest, decodes: Bool) throws(LoadError) -> Bool {
        _ = try codecs.validate(body)
        guard decodes else { return false }
        var options = DecodeOptions()
        options.maximumPixels = request.limits.maximumPixels
        options.maximumMemory = request.limits.maximumDecodeBytes
        let needed = try codecs.memoryToVerify(body, options: options)
        guard takeMemoryNow(needed) else { return false }
        defer { giveBackMemory(needed) }
        let cancellation = CancellationFlag()
        try withinDecodeTime(cancellation) { () throws(LoadError) in
            try codecs.verify(body, options: options, cancellation: cancellation)
        }
        return true
    }
}

extension LoadError {
    /// Whether the bytes themselves are unusable. A limit, a cancellation or a missing codec does not mean that.
    var rejectsBody: Bool { code == .damaged || code == .notAnImage }
}
