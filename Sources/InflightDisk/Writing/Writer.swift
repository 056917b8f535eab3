internal import InflightConcurrency
internal import InflightCore

/// Everything that changes the cache: batches of operations, each batch in one transaction.
// Unchecked: everything mutable is touched on the writer's thread alone.
final class Writer: @unchecked Sendable {
    let configuration: DiskStore.Configuration
    let paths: CachePaths
    let bodies: BodyFiles
    /// What readers may open; told when the folder was opened, and taken back when it is not usable.
    private let opened: Guarded<OpenIndex?>
    private let whyNot = Guarded<LoadError?>(nil)

    private(set) var cache: OpenCache?
    private var nextTry = MonotonicTime.zero
    private var isKnownUnavailable = false
    /// The longest batch of bodies that could not be written since then.
    private var refusedBytes = 0
    /// Files that are gone, but whose room is still counted: given back with the next transaction.
    private var settled: [Int64] = []
    /// Files that no row names any more and that could not be removed yet.
    private var doomed: [Int64] = []
    /// Where the sweep for what the dead have left goes on.
    private var hasSwept = false
    /// Checksums of bodies that are growing, so that what is there need not be read again.
    var sums = GrowingSums()

    init(_ configuration: DiskStore.Configuration, opened: Guarded<OpenIndex?>) {
        self.configuration = configuration
        self.opened = opened
        paths = CachePaths(folder: configuration.folder)
        bodies = BodyFiles(
            paths: paths, fileSystem: configuration.fileSystem, synchronizes: configuration.durability == .powerCut)
    }

    /// Why the folder could not be used when that was tried last. Any thread.
    var unavailability: LoadError? { whyNot.withLock { $0 } }

    // MARK: Opening

    private var opener: CacheOpener {
        CacheOpener(
            paths: paths, fileSystem: configuration.fileSystem, indexFileSystem: configuration.indexFileSystem,
            layout: configuration.layout, durability: configuration.durability,
            keptLogBytes: configuration.logReserve * 3 / 4, makesFolder: configuration.makesFolder)
    }

    /// - Parameter looks: whether an index that is open is looked for in its place, which each transaction does too.
    private func openIfNeeded(looks: Bool = true) {
        if let cache, !looks || (try? configuration.fileSystem.status(paths.index))?.identity == cache.index { return }
        let now = configuration.clock.now()
        if cache == nil, isKnownUnavailable, now < nextTry { return }
        close()
        adopt { () throws(StoreFailure) in try opener.open() }
    }

    private func mend(_ damaged: FileStatus.Identity) {
        // Others have told of it before, and it was mended.
        guard cache?.index == damaged else { return openIfNeeded() }
        close()
        adopt { () throws(StoreFailure) in try opener.mend(damaged) }
    }

    private func adopt(_ open: () throws(StoreFailure) -> CacheOpener.Opened) {
        do {
            let opened = try open()
            cache = opened.cache
            hasSwept = false
            let index = OpenIndex(
                identity: opened.cache.identity, index: opened.cache.index, salvaged: opened.salvaged)
            self.opened.withLock { $0 = index }
            if let kept = opened.salvaged { configuration.onEvent?(.repaired(kept: kept)) }
        } catch {
            fail(error)
        }
    }

    private func fail(_ failure: StoreFailure) {
        close()
        note(failure)
        nextTry = configuration.clock.now() + .seconds(1)
    }

    func close() {
        opened.withLock { $0 = nil }
        cache = nil
        (settled, doomed) = ([], [])
        sums = GrowingSums()
    }

    // MARK: Trouble

    /// Something could not be written: told once. What is there can still be read; writing is tried again later.
    ///
    /// - Parameter bytes: how long the bodies are that it was about.
    func note(_ failure: StoreFailure, bytes: Int = 0) {
        let error = failure.error(folder: paths.folder)
        if !isKnownUnavailable { configuration.onEvent?(.unavailable(error)) }
        isKnownUnavailable = true
        refusedBytes = max(refusedBytes, bytes)
        whyNot.withLock { $0 = error }
    }

    /// On a full disk what is short may still find room: that is no recovery, or each long body would be told of anew.
    private func noteSuccess(bytes: Int) {
        guard isKnownUnavailable, bytes >= refusedBytes else { return }
        isKnownUnavailable = false
        refusedBytes = 0
        whyNot.withLock { $0 = nil }
        configuration.onEvent?(.recovered)
    }

    // MARK: Batches

    /// Does all of a batch, and tells each operation's completion afterwards.
    func run(_ batch: Mailbox.Batch) {
        if case .mend(let index)? = batch.operations.first?.work { mend(index) }
        openIfNeeded(looks: !batch.changesIndex)
        let outcomes = outcomes(of: batch)
        for (operation, outcome) in zip(batch.operations, outcomes) { operation.completion(outcome) }
        settleIfMany()
    }

    private func outcomes(of batch: Mailbox.Batch) -> [WriteOperation.Outcome] {
        let failed = [WriteOperation.Outcome](repeating: .failed, count: batch.operations.count)
        guard let cache else { return failed }
        do {
            return try attempt(batch, in: cache)
        } catch {
            if case .replaced = error { return again(batch) }
            if error.isDamage {
                mend(cache.index)
                return again(batch)
            }
            if batch.operations.count > 1 {
                // One that cannot be done, for want of room perhaps, shall not take the others along.
                return batch.operations.flatMap { outcomes(of: Mailbox.Batch(operations: [$0])) }
            }
            if !error.isBusy { note(error, bytes: batch.operations.reduce(0) { $0 + $1.bytes }) }
            return failed
        }
    }

    /// Once more after the index was opened anew.
    private func again(_ batch: Mailbox.Batch) -> [WriteOperation.Outcome] {
        openIfNeeded()
        guard let cache, let outcomes = try? attempt(batch, in: cache) else {
            return [WriteOperation.Outcome](repeating: .failed, count: batch.operations.count)
        }
        return outcomes
    }

    private func attempt(
        _ batch: Mailbox.Batch, in cache: OpenCache
    ) throws(StoreFailure) -> [WriteOperation.Outcome] {
        guard batch.changesIndex else {
            return batch.operations.map { _ in .done }
        }
        guard keepsLogShort(cache) else { return batch.operations.map { _ in .failed } }
        let transaction = BatchTransaction(writer: self, cache: cache, batch: batch)
        defer { if !hasSwept { hasSwept = sweepSome(cache) } }
        let outcomes = try transaction.run()
        if !transaction.hadTrouble {
            noteSuccess(bytes: zip(batch.operations, outcomes).reduce(0) { $0 + ($1.1.isFailed ? 0 : $1.0.bytes) })
        }
        return outcomes
    }

    /// Copies the log into the index before it gets longer than it may.
    ///
    /// - Returns: whether there is room for another transaction in it.
    private func keepsLogShort(_ cache: OpenCache) -> Bool {
        // In eighths of the reserve; a batch adds one of bodies, and little more.
        let eighth = configuration.logReserve / 8
        guard cache.logBytes > eighth * 4 else { return true }
        _ = try? cache.database.checkpoint(.passive)
        guard cache.logBytes > eighth * 5 else { return true }
        // Readers that are at it go on; new ones read the index itself, so this ends soon.
        _ = try? cache.database.checkpoint(.truncate)
        return cache.logBytes <= eighth * 6
    }

    // MARK: Files that go

    /// Removes files that no row names any more, which has been committed.
    func remove(_ files: [Int64]) {
        for file in files {
            if bodies.remove(file) { settled.append(file) } else { doomed.append(file) }
        }
    }

    private func removeDoomed() {
        let files = doomed.prefix(16)
        doomed.removeFirst(files.count)
        remove(Array(files))
    }

    /// A transaction that also gives back the room of files that are gone.
    func transaction<Result>(
        _ cache: OpenCache, _ body: (inout IndexState) throws(StoreFailure) -> Result
    ) throws(StoreFailure) -> Result {
        let gone = settled
        let result = try cache.transaction(probe: configuration.commitProbe) { (state) throws(StoreFailure) in
            for file in gone { try cache.forget(file, &state) }
            return try body(&state)
        }
        settled.removeFirst(gone.count)
        return result
    }

    private func settleIfMany() {
        if !doomed.isEmpty { removeDoomed() }
        if settled.count >= 64 { settle() }
    }

    private func settle() {
        guard !settled.isEmpty, let cache else { return }
        _ = try? transaction(cache) { (_) throws(StoreFailure) in }
    }

    /// Removes some of what stores that are no more have left: files they were writing, or had to remove.
    ///
    /// - Returns: whether that was all.
    private func sweepSome(_ cache: OpenCache) -> Bool {
        var owners: [Int64: Bool] = [:]
        var left: [Int64] = []
        let status: Void? = try? inDatabase { () throws(DatabaseError) in
            try cache.database.query(
                "SELECT file, owner FROM pending WHERE owner <> ? LIMIT 64", .number(cache.lock.owner)
            ) {
                (row: borrowing Row) throws(DatabaseError) in
                let owner = row.number(1)
                let isAlive = owners[owner] ?? cache.lock.isAlive(owner)
                owners[owner] = isAlive
                if !isAlive { left.append(row.number(0)) }
                return true
            }
        }
        guard status != nil, !left.isEmpty else { return true }
        remove(left)
        settle()
        return false
    }

    /// What is to be done before the end.
    func finish() {
        if let cache {
            removeDoomed()
            settle()
            _ = try? cache.database.checkpoint(.passive)
        }
        close()
    }
}

extension StoreFailure {
    fileprivate var isBusy: Bool {
        if case .database(let error) = self { return error.isBusy }
        return false
    }
}

extension WriteOperation.Outcome {
    fileprivate var isFailed: Bool { if case .failed = self { true } else { false } }
}

extension Mailbox.Batch {
    fileprivate var changesIndex: Bool { !touches.isEmpty || operations.contains(where: \.changesIndex) }
}

extension WriteOperation {
    fileprivate var changesIndex: Bool {
        switch work {
        case .open, .mend: false
        default: true
        }
    }
}

/// What a reader has to know to open an index: whose it is, and which file.
struct OpenIndex: Sendable, Hashable {
    var identity: UInt64
    var index: FileStatus.Identity
    /// How many entries were whole where it was made anew of a damaged one.
    var salvaged: Int?
}

/// The checksums of bodies that are growing, by entry; as many as downloads that are likely to be under way at once.
struct GrowingSums {
    private var sums: [Int64: (length: Int64, sum: Checksum)] = [:]

    func sum(_ id: Int64, length: Int64) -> Checksum? {
        guard let known = sums[id], known.length == length else { return nil }
        return known.sum
    }

    mutating func set(_ id: Int64, length: Int64, _ sum: Checksum) {
        if sums.count >= 128, sums[id] == nil { sums.removeAll() }
        sums[id] = (length, sum)
    }

    mutating func forget(_ id: Int64) {
        sums[id] = nil
    }
}
