internal import InflightConcurrency
internal import InflightCore
internal import InflightSQLite

/// The state that a store's threads share: the writer with its queue, the readers, and the open index.
final class StoreCore: Sendable {
    let configuration: DiskStore.Configuration
    let readers: ReaderPool
    private let writer: Writer
    private let queue: Guarded<WriteQueue>
    private let life = Guarded(Life())

    private struct Threads {
        let writing = WorkerThreads(count: 1, name: "inflight.store")
        // A second reader helps only with processors to spare, and needs file descriptors.
        let reading = WorkerThreads(
            count: MachineSize.processors > 2 && DescriptorLimit.available > 64 ? 2 : 1, name: "inflight.read")
    }

    private struct Life {
        /// nil after the store has closed.
        var threads: Threads? = Threads()
        /// The number of calls whose completions have not returned.
        var active = 0
        var isClosing = false
        var whenClosed: [@Sendable () -> Void] = []
    }

    init(_ configuration: DiskStore.Configuration) {
        self.configuration = configuration
        queue = Guarded(WriteQueue(logReserve: configuration.logReserve))
        let opened = Guarded<OpenIndex?>(nil)
        writer = Writer(configuration, opened: opened)
        readers = ReaderPool(configuration, opened: opened)
    }

    var now: WallTime { WallTime(secondsSince1970: configuration.clock.secondsSince1970()) }

    // MARK: Calls

    /// Runs `body`, which must call ``end()`` once, or runs `otherwise` on another thread if the store is closing.
    func begin(_ body: () -> Void, otherwise: @escaping @Sendable () -> Void) {
        let isOpen = life.withLock { life in
            if !life.isClosing { life.active += 1 }
            return !life.isClosing
        }
        if isOpen { body() } else { WorkerThreads(count: 1, name: "inflight.store").run(otherwise) }
    }

    /// A call has ended and its completion has returned.
    func end() {
        let isLast = life.withLock { life in
            life.active -= 1
            return life.active == 0 && life.isClosing
        }
        if isLast { finish() }
    }

    private func run(
        _ threads: (Threads) -> WorkerThreads, _ work: @escaping @Sendable () -> Void
    ) {
        life.withLock { $0.threads.map(threads) }?.run(work)
    }

    // MARK: Writing

    /// Enqueues an operation for the writer. Any thread; `completion` is never called synchronously.
    func write(_ work: WriteOperation.Work, completion: @escaping @Sendable (WriteOperation.Outcome) -> Void) {
        let (isTaken, wakes) = queue.withLock { $0.add(WriteOperation(work: work, completion: completion)) }
        if !isTaken {
            // A completion must not run on the caller's thread. This one touches no file.
            run(\.reading) { completion(.failed) }
        } else if wakes {
            run(\.writing) { self.drain() }
        }
    }

    /// Records a use of an entry.
    func touch(_ id: Int64) {
        if queue.withLock({ $0.touch(id) }) { run(\.writing) { self.drain() } }
    }

    private func drain() {
        let byteLimit = Int(configuration.logReserve / 8)
        // A row and its index entries take several pages of the log.
        let operationLimit = min(64, Int(configuration.logReserve >> 16))
        while let batch = queue.withLock({ $0.next(operationLimit: operationLimit, byteLimit: byteLimit) }) {
            writer.run(batch)
        }
        if queue.withLock({ $0.isClosed }) { writer.finish() }
    }

    /// The reason why the last attempt to use the folder failed, if it did.
    var unavailability: LoadError? { writer.unavailability }
    func takeDiscarded() -> DiscardedIndex? { writer.takeDiscarded() }

    // MARK: Reading

    /// Runs `body` on a reading thread once the folder is open, or calls `completion` with nil if it cannot be opened.
    ///
    /// - Parameter replaces: Whether to replace an index that turns out to be damaged, and read once more.
    func read<Value: Sendable>(
        replaces: Bool = true, _ body: @escaping @Sendable (ReaderPool.Connection) throws(DatabaseError) -> Value,
        completion: @escaping @Sendable (Value?) -> Void
    ) {
        run(\.reading) { self.readNow(opens: 3, replaces: replaces, body, completion: completion) }
    }

    /// - Parameter opens: The number of times to open an index that is not open and read again. Another may
    ///   replace it between opening and reading.
    private func readNow<Value: Sendable>(
        opens: Int, replaces: Bool,
        _ body: @escaping @Sendable (ReaderPool.Connection) throws(DatabaseError) -> Value,
        completion: @escaping @Sendable (Value?) -> Void
    ) {
        @Sendable func again(opens: Int, replaces: Bool) {
            run(\.reading) { self.readNow(opens: opens, replaces: replaces, body, completion: completion) }
        }
        switch readers.read(body) {
        case .value(let value): completion(value)
        case .notOpen where opens > 0: write(.open) { _ in again(opens: opens - 1, replaces: replaces) }
        case .failed(let error, let index) where error.isDamage && replaces:
            write(.replaceIfDamaged(index.index)) { _ in again(opens: opens, replaces: false) }
        case .notOpen, .failed: completion(nil)
        }
    }

    // MARK: Closing

    /// Rejects new calls, waits for active ones, then closes everything and releases the threads.
    func close(completion: @escaping @Sendable () -> Void) {
        let (isIdle, isClosed) = life.withLock { life in
            let isFirst = !life.isClosing
            life.isClosing = true
            if life.threads != nil { life.whenClosed.append(completion) }
            return (isFirst && life.active == 0, life.threads == nil)
        }
        if isIdle { finish() }
        if isClosed { completion() }
    }

    private func finish() {
        if queue.withLock({ $0.close() }) { run(\.writing) { self.drain() } }
        // Runs after the current drain, which completes all remaining operations.
        run(\.writing) {
            self.readers.closeIdle()
            let (threads, waiting) = self.life.withLock { life in
                defer { (life.threads, life.whenClosed) = (nil, []) }
                return (life.threads, life.whenClosed)
            }
            withExtendedLifetime(threads) { for closed in waiting { closed() } }
        }
    }
}
