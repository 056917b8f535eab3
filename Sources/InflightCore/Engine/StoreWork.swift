import InflightConcurrency

/// What a store still has to do for a pipeline: a bound on the bytes that wait for it, and who waits until all is done.
// Unchecked: all that changes is touched only while `lock` is held.
final class StoreWork: @unchecked Sendable {
    private let maximumBytes: Int64
    private let lock = Lock()
    private var bytes: Int64 = 0
    private var count = 0
    private var waiters: [Bridge] = []

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
    private let completion: (@Sendable () -> Void)?
    private let machine = Guarded(GroupMachine())

    init(_ work: StoreWork, _ completion: (@Sendable () -> Void)?) {
        self.work = work
        self.completion = completion
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
        if machine.withLock({ $0.sealed() }) { completion?() }
    }

    private func left() {
        if machine.withLock({ $0.left() }) { completion?() }
    }
}
