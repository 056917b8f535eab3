import InflightConcurrency

/// Which entry of a store holds the body of a response, so that whoever finds the body of no use can have it removed:
/// also before the store has acknowledged it.
final class StoredEntryReference: Sendable {
    let key: StoreKey
    private let machine: Guarded<StoredEntryMachine>

    /// - Parameter id: the entry, where it is stored already; `nil` where it is to be.
    init(key: StoreKey, id: StoredEntry.ID? = nil) {
        self.key = key
        machine = Guarded(StoredEntryMachine(id: id))
    }

    /// The body is of no use.
    ///
    /// - Returns: the entry to remove now; `nil` where there is none, or not yet.
    func rejected() -> StoredEntry.ID? { machine.withLock { $0.rejected() } }

    /// The store has kept the body.
    ///
    /// - Returns: whether the entry is to be removed again.
    func kept(as id: StoredEntry.ID) -> Bool { machine.withLock { $0.kept(as: id) } }
}

/// Decides when an entry whose body was rejected is removed: once, in whichever order both become known.
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
    /// Removes what is stored of a body that a decoder or a structure check rejects. A look-up that comes after this call
    /// waits until it is gone.
    func reject(_ entry: StoredEntryReference?) {
        guard let store, let entry, let id = entry.rejected() else { return }
        log(.notice, "what is stored is of no use, and is removed") { [("key", entry.key.text)] }
        let group = StoreGroup(storing, changing: [entry.key], nil)
        group { store.remove([id], completion: $0) }
        group.seal()
    }

    /// Throws where a body is no image: as far as its structure tells, or its pixels too.
    ///
    /// - Parameter decodes: whether the pixels are decoded, where there is memory for that now. Takes as long as a decode.
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
    /// Whether it says that the bytes themselves are of no use: a limit, a cancel or a missing codec does not.
    var rejectsBody: Bool { code == .damaged || code == .notAnImage }
}
