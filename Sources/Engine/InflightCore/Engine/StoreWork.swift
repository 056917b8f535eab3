import InflightConcurrency

/// What a store still has to do for a pipeline: a bound on the bytes that wait for it, and who waits until all is done, or
/// until all is done that changes what he looks for.
// Unchecked: all that changes is touched only while `lock` is held.
final class StoreWork: @unchecked Sendable {
    private let maximumBytes: Int64
    private let lock = Lock()
    private var bytes: Int64 = 0
    private var count = 0
    private var waiters: [Bridge] = []
    /// What is changing: how many answers change it, and who waits to look for it.
    private var changing: [StoreKey: (count: Int, lookUps: [@Sendable () -> Void])] = [:]

    init(maximumBytes: Int64) {
        self.maximumBytes = maximumBytes
    }

    /// Hands something to the store, unless too many bytes wait for it already: then nothing is kept, and nobody waits.
    ///
    /// - Parameter work: is given what to call when the store has done it.
    /// - Returns: whether it was handed over.
    @discardableResult
    func callAsFunction(bytes: Int = 0, _ work: (@escaping @Sendable () -> Void) -> Void) -> Bool {
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

    /// What is kept under `keys` changes until ``ended(_:)`` says otherwise.
    func began(_ keys: [StoreKey]) {
        lock.withLock {
            for key in keys { changing[key, default: (0, [])].count += 1 }
        }
    }

    func ended(_ keys: [StoreKey]) {
        let lookUps: [@Sendable () -> Void] = lock.withLock {
            keys.flatMap { key -> [@Sendable () -> Void] in
                changing[key]?.count -= 1
                guard changing[key]?.count == 0 else { return [] }
                return changing.removeValue(forKey: key)?.lookUps ?? []
            }
        }
        for lookUp in lookUps { lookUp() }
    }

    /// Runs `lookUp` when nothing changes any more what is kept under `key`: at once, or on a thread of the store's.
    ///
    /// A request that follows an answer finds what that has left, as it would with a cache that keeps things before it
    /// answers: what a `POST` made useless is not used (RFC 9111 section 4.4), and nobody is asked twice for the same.
    func whenSettled(_ key: StoreKey, _ lookUp: @escaping @Sendable () -> Void) {
        let isSettled = lock.withLock {
            guard changing[key] != nil else { return true }
            changing[key]?.lookUps.append(lookUp)
            return false
        }
        if isSettled { lookUp() }
    }

    /// Returns when the store has done all that it was handed.
    func wait() async {
        let bridge = Bridge()
        let isIdle = lock.withLock {
            if count == 0 { return true }
            waiters.append(bridge)
            return false
        }
        if !isIdle { await bridge.wait() }
    }
}

/// What a store has to do because of one answer, and what is to happen when all of that is done.
final class StoreGroup: Sendable {
    private let work: StoreWork
    private let keys: [StoreKey]
    private let completion: (@Sendable () -> Void)?
    private let machine = Guarded(GroupMachine())

    /// - Parameter keys: under which something changes.
    init(_ work: StoreWork, changing keys: [StoreKey], _ completion: (@Sendable () -> Void)?) {
        self.work = work
        self.keys = keys
        self.completion = completion
        if !keys.isEmpty { work.began(keys) }
    }

    func callAsFunction(bytes: Int = 0, _ body: (@escaping @Sendable () -> Void) -> Void) {
        _ = machine.withLock { $0.entered() }
        let isTaken = work(bytes: bytes) { [self] done in
            body { [self] in
                done()
                left()
            }
        }
        if !isTaken { left() }
    }

    /// There is nothing else to do.
    func seal() {
        if machine.withLock({ $0.sealed() }) { end() }
    }

    private func left() {
        if machine.withLock({ $0.left() }) { end() }
    }

    private func end() {
        if !keys.isEmpty { work.ended(keys) }
        completion?()
    }
}
