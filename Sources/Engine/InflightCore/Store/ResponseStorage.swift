import InflightConcurrency

/// A pipeline's use of its response store: bounds the bytes of pending writes, holds back lookups of entries that are
/// about to change, and lets callers wait until all writes are done.
// Unchecked: mutable properties are accessed only while `lock` is held.
final class ResponseStorage: @unchecked Sendable {
    /// If nil, nothing is stored.
    let store: (any ResponseStore)?
    private let ownsStore: Bool
    private let log: Log
    private let maximumBytes: Int64
    private let lock = Lock()
    private var bytes: Int64 = 0
    private var count = 0
    private var waiters: [Bridge] = []
    /// Keys with pending changes: the number of responses that change each, and the lookups that wait for that.
    private var changing: [StoreKey: (count: Int, lookUps: [@Sendable () -> Void])] = [:]

    init(_ configuration: ImagePipeline.Configuration, log: Log) throws(LoadError) {
        self.log = log
        maximumBytes = configuration.maximumBytesToStore
        switch configuration.store {
        case nil: (store, ownsStore) = (nil, false)
        case .shared(let lent): (store, ownsStore) = (lent, false)
        case .owned(let make): (store, ownsStore) = (try make(configuration), true)
        }
    }

    /// Passes work to the store, unless too many bytes are pending: then nothing is stored.
    ///
    /// - Parameter work: gets a closure to call when the store is done.
    /// - Returns: whether the work was passed on.
    @discardableResult
    func submit(bytes: Int = 0, _ work: (@escaping @Sendable () -> Void) -> Void) -> Bool {
        let amount = Int64(bytes)
        let isTaken = lock.withLock {
            guard amount == 0 || amount <= maximumBytes - self.bytes else { return false }
            self.bytes += amount
            count += 1
            return true
        }
        guard isTaken else { return false }
        work { [self] in
            let woken: [Bridge] = lock.withLock {
                self.bytes -= amount
                count -= 1
                guard count == 0 else { return [] }
                defer { waiters = [] }
                return waiters
            }
            for waiter in woken { waiter.open() }
        }
        return true
    }

    /// Changes of the entries under `keys` begin. They last until ``ended(_:)``.
    fileprivate func began(_ keys: [StoreKey]) {
        lock.withLock {
            for key in keys { changing[key, default: (0, [])].count += 1 }
        }
    }

    fileprivate func ended(_ keys: [StoreKey]) {
        let lookUps: [@Sendable () -> Void] = lock.withLock {
            keys.flatMap { key -> [@Sendable () -> Void] in
                changing[key]?.count -= 1
                guard changing[key]?.count == 0 else { return [] }
                return changing.removeValue(forKey: key)?.lookUps ?? []
            }
        }
        for lookUp in lookUps { lookUp() }
    }

    /// Runs `lookUp` when no change is pending for `key`: at once, or on a thread of the store.
    ///
    /// A request that follows a response finds the store as if the response had been stored before its delivery.
    /// Entries that a `POST` invalidated are not used (RFC 9111 section 4.4), and nothing is fetched twice.
    func afterPendingChanges(_ key: StoreKey, _ lookUp: @escaping @Sendable () -> Void) {
        let isSettled = lock.withLock {
            guard changing[key] != nil else { return true }
            changing[key]?.lookUps.append(lookUp)
            return false
        }
        if isSettled { lookUp() }
    }

    /// Removes the stored bytes of a body that a decoder or a structure check rejects. A lookup after this call waits
    /// until they are removed.
    func reject(_ entry: StoredEntryReference?) {
        guard let store, let entry, let id = entry.rejected() else { return }
        log(.notice, "removing an unusable cache entry") { [("key", entry.key.text)] }
        let group = StoreGroup(self, changing: [entry.key], nil)
        group { store.remove([id], completion: $0) }
        group.seal()
    }

    /// Returns when the store has finished everything that was passed to it.
    func wait() async {
        let bridge = Bridge()
        let isIdle = lock.withLock {
            if count == 0 { return true }
            waiters.append(bridge)
            return false
        }
        if !isIdle { await bridge.wait() }
    }

    /// Returns when all writes are done and the pipeline's own store has shut down.
    func shutdown() async {
        await wait()
        if ownsStore { await store?.shutdown() }
    }
}

/// The store's work for one response, with a completion for when all of it is done.
final class StoreGroup: Sendable {
    private let storage: ResponseStorage
    private let keys: [StoreKey]
    private let completion: (@Sendable () -> Void)?
    private let machine = Guarded(GroupMachine())

    /// - Parameter keys: the keys under which entries change.
    init(_ storage: ResponseStorage, changing keys: [StoreKey], _ completion: (@Sendable () -> Void)?) {
        self.storage = storage
        self.keys = keys
        self.completion = completion
        if !keys.isEmpty { storage.began(keys) }
    }

    func callAsFunction(bytes: Int = 0, _ body: (@escaping @Sendable () -> Void) -> Void) {
        _ = machine.withLock { $0.entered() }
        let isTaken = storage.submit(bytes: bytes) { [self] done in
            body { [self] in
                done()
                left()
            }
        }
        if !isTaken { left() }
    }

    /// No more work will be added.
    func seal() {
        if machine.withLock({ $0.sealed() }) { end() }
    }

    private func left() {
        if machine.withLock({ $0.left() }) { end() }
    }

    private func end() {
        if !keys.isEmpty { storage.ended(keys) }
        completion?()
    }
}

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

/// A response whose processed images may be stored.
final class StorableResponse: Sendable {
    let key: StoreKey
    let request: CachingRequest
    /// The response from which the image is made, as it is or would be stored.
    let response: StoredResponse

    init(key: StoreKey, request: CachingRequest, response: StoredResponse) {
        self.key = key
        self.request = request
        self.response = response
    }
}
