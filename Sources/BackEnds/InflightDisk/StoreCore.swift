internal import InflightConcurrency
internal import InflightCore

/// What a store's threads share: the writer with its mailbox, the readers, and what is known of the index.
final class StoreCore: Sendable {
    let configuration: DiskStore.Configuration
    let readers: ReaderPool
    private let writer: Writer
    private let mailbox = Guarded(Mailbox())
    private let life = Guarded(Life())

    private struct Threads {
        let writing = WorkerThreads(count: 1, name: "inflight.store")
        // A second one helps where processors are left over for it, and takes descriptors.
        let reading = WorkerThreads(
            count: MachineSize.processors > 2 && DescriptorLimit.available > 64 ? 2 : 1, name: "inflight.read")
    }

    private struct Life {
        /// `nil` after the end.
        var threads: Threads? = Threads()
        /// Calls whose completions have not returned.
        var active = 0
        var isClosing = false
        var whenClosed: [@Sendable () -> Void] = []
    }

    init(_ configuration: DiskStore.Configuration) {
        self.configuration = configuration
        let opened = Guarded<OpenIndex?>(nil)
        writer = Writer(configuration, opened: opened)
        readers = ReaderPool(configuration, opened: opened)
    }

    var now: WallTime { WallTime(secondsSince1970: configuration.clock.secondsSince1970()) }

    // MARK: Calls

    /// Runs `body`, which has to call ``end()`` once; or after the end, `otherwise` on a thread of ours.
    func begin(_ body: () -> Void, otherwise: @escaping @Sendable () -> Void) {
        let isOpen = life.withLock { life in
            if !life.isClosing { life.active += 1 }
            return !life.isClosing
        }
        if isOpen { body() } else { WorkerThreads(count: 1, name: "inflight.store").run(otherwise) }
    }

    /// A call has ended, and its completion has returned.
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

    /// Hands an operation to the writer. Any thread; `completion` is never called inside.
    func write(_ work: WriteOperation.Work, completion: @escaping @Sendable (WriteOperation.Outcome) -> Void) {
        let (isTaken, wakes) = mailbox.withLock { $0.add(WriteOperation(work: work, completion: completion)) }
        if !isTaken {
            // On a thread of ours, and touching no file.
            run(\.reading) { completion(.failed) }
        } else if wakes {
            run(\.writing) { self.drain() }
        }
    }

    /// Notes that an entry was used.
    func touch(_ id: Int64) {
        if mailbox.withLock({ $0.touch(id) }) { run(\.writing) { self.drain() } }
    }

    private func drain() {
        let byteLimit = Int(configuration.logReserve / 8)
        // A row and its ways take some pages of the log.
        let mostOperations = min(64, Int(configuration.logReserve >> 16))
        while let batch = mailbox.withLock({ $0.next(mostOperations: mostOperations, byteLimit: byteLimit) }) {
            writer.run(batch)
        }
        if mailbox.withLock({ $0.isClosed }) { writer.finish() }
    }

    /// Why the folder could not be used when that was tried last.
    var unavailability: LoadError? { writer.unavailability }
    func takeRepair() -> Int? { writer.takeRepair() }

    // MARK: Reading

    /// Reads, on a reading thread, once the folder is open; `completion` is given `nil` where it cannot be.
    ///
    /// - Parameter mends: an index that is found to be damaged is made anew, and read once more.
    func read<Value: Sendable>(
        mends: Bool = true, _ body: @escaping @Sendable (ReaderPool.Connection) throws(DatabaseError) -> Value,
        completion: @escaping @Sendable (Value?) -> Void
    ) {
        run(\.reading) { self.readNow(opens: 3, mends: mends, body, completion: completion) }
    }

    /// - Parameter opens: how often an index that is not open is opened, and read then: it may be replaced by a mended one
    ///   in that moment.
    private func readNow<Value: Sendable>(
        opens: Int, mends: Bool,
        _ body: @escaping @Sendable (ReaderPool.Connection) throws(DatabaseError) -> Value,
        completion: @escaping @Sendable (Value?) -> Void
    ) {
        @Sendable func again(opens: Int, mends: Bool) {
            run(\.reading) { self.readNow(opens: opens, mends: mends, body, completion: completion) }
        }
        switch readers.read(body) {
        case .value(let value): completion(value)
        case .notOpen where opens > 0: write(.open) { _ in again(opens: opens - 1, mends: mends) }
        case .failed(let error, let index) where error.isDamage && mends:
            write(.mend(index.index)) { _ in again(opens: opens, mends: false) }
        case .notOpen, .failed: completion(nil)
        }
    }

    // MARK: The end

    /// Takes no more calls, waits for those under way, closes everything and lets go of the threads.
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
        if mailbox.withLock({ $0.close() }) { run(\.writing) { self.drain() } }
        // Behind the drain that is under way, which does all that is left.
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
