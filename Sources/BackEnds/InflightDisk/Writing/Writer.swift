internal import InflightConcurrency
internal import InflightCore

/// Everything that changes the cache: batches of operations, each batch in one transaction.
// Unchecked: everything mutable is touched on the writer's thread alone.
final class Writer: @unchecked Sendable {
    let configuration: DiskStore.Configuration
    /// Without symbolic links, since the folder was opened last.
    private(set) var paths: CachePaths
    /// What readers may open; told when the folder was opened, and taken back when it is not usable.
    private let opened: Guarded<OpenIndex?>
    private let whyNot = Guarded<LoadError?>(nil)
    /// How many entries a repair has kept that no verification has told of yet.
    private let repair = Guarded<Int?>(nil)

    private(set) var cache: OpenCache?
    private var nextTry = MonotonicTime.zero
    private var isKnownUnavailable = false
    /// The longest batch of bodies that could not be written since then.
    private var refusedBytes = 0
    /// Files that are gone, but whose room is still counted: given back with the next transaction.
    private var settled: [Int64] = []
    /// Files that no row names any more and that could not be removed yet.
    private var doomed: [Int64] = []
    /// What the dead have left was removed.
    private var hasSwept = false
    /// How long readers of the log are waited for, in milliseconds: not at all once one has outlasted it.
    private var logPatience = Writer.longLogPatience
    private static let longLogPatience: Int32 = 250
    /// Checksums of bodies that are growing, so that what is there need not be read again.
    var sums = GrowingSums()

    init(_ configuration: DiskStore.Configuration, opened: Guarded<OpenIndex?>) {
        self.configuration = configuration
        self.opened = opened
        paths = CachePaths(folder: configuration.folder)
    }

    var bodies: BodyFiles { configuration.bodies(in: paths) }

    /// Why the folder could not be used when that was tried last. Any thread.
    var unavailability: LoadError? { whyNot.withLock { $0 } }

    /// How many entries the last repair has kept, once. Any thread.
    func takeRepair() -> Int? {
        repair.withLock { repair in
            defer { repair = nil }
            return repair
        }
    }

    // MARK: Opening

    private func opener() throws(StoreFailure) -> CacheOpener {
        do {
            try configuration.check()
        } catch {
            throw .refused(error)
        }
        paths = CachePaths(
            folder: try inFiles("the folder") { () throws(FileError) in
                try configuration.fileSystem.resolved(configuration.folder)
            })
        return CacheOpener(
            paths: paths, named: configuration.folder, fileSystem: configuration.fileSystem,
            indexFileSystem: configuration.indexFileSystem, layout: configuration.layout,
            durability: configuration.durability, logLimit: configuration.logReserve,
            makesFolder: configuration.makesFolder)
    }

    /// - Parameter looks: whether an index that is open is looked for in its place, which each transaction does too.
    private func openIfNeeded(looks: Bool = true) {
        if let cache, !looks || (try? configuration.fileSystem.status(paths.index))?.identity == cache.index { return }
        let now = configuration.clock.now()
        if cache == nil, isKnownUnavailable, now < nextTry { return }
        close()
        adopt { () throws(StoreFailure) in try opener().open() }
    }

    private func mend(_ damaged: FileStatus.Identity) {
        // Others have told of it before, and it was mended.
        guard cache?.index == damaged else { return openIfNeeded() }
        close()
        adopt { () throws(StoreFailure) in try opener().mend(damaged) }
    }

    private func adopt(_ open: () throws(StoreFailure) -> CacheOpener.Opened) {
        do {
            let opened = try open()
            cache = opened.cache
            hasSwept = false
            let index = OpenIndex(
                identity: opened.cache.identity, index: opened.cache.index, paths: opened.cache.paths)
            self.opened.withLock { $0 = index }
            if let kept = opened.salvaged {
                repair.withLock { $0 = kept }
                configuration.onEvent?(.repaired(kept: kept))
            }
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
        let error = failure.error(folder: configuration.folder)
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
            if error.isLogFull, truncateLog(cache), let done = try? attempt(batch, in: cache) { return done }
            if batch.operations.count > 1 {
                // One that cannot be done, for want of room perhaps, shall not take the others along.
                return batch.operations.flatMap { outcomes(of: Mailbox.Batch(operations: [$0])) }
            }
            if !error.isBusy, !error.isLogFull { note(error, bytes: batch.operations.reduce(0) { $0 + $1.bytes }) }
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
        if case .sweep? = batch.operations.first?.work {
            guard sweepSome(cache) else { return [.done] }
            bodies.removeEmptyFolders()
            _ = try? cache.database.checkpoint(.passive)
            return [.failed]
        }
        if !keepsLogShort(cache), batch.operations.contains(where: \.isStoring) {
            // What is left of the log is for what removes entries, or says that they are stale.
            return batch.operations.flatMap { operation -> [WriteOperation.Outcome] in
                operation.isStoring ? [.failed] : self.outcomes(of: Mailbox.Batch(operations: [operation]))
            }
        }
        let transaction = BatchTransaction(writer: self, cache: cache, batch: batch)
        defer { if !hasSwept { hasSwept = sweepSome(cache) } }
        let outcomes = try transaction.run()
        if !transaction.hadTrouble {
            noteSuccess(bytes: zip(batch.operations, outcomes).reduce(0) { $0 + ($1.1.isFailed ? 0 : $1.0.bytes) })
        }
        return outcomes
    }

    /// Copies the log into the index before it is full; SQLite itself lets no commit make it longer than it may be.
    ///
    /// - Returns: whether there is room for another store in it.
    private func keepsLogShort(_ cache: OpenCache) -> Bool {
        let reserve = configuration.logReserve
        // A store with a larger limit has left it so long.
        let isTooLong = cache.logFileBytes > reserve
        guard isTooLong || cache.logBytes > reserve / 2 else { return true }
        if !isTooLong, (try? cache.database.checkpoint(.passive)) == true { return true }
        guard isTooLong || cache.logBytes > reserve / 8 * 5 else { return true }
        return truncateLog(cache) || (!isTooLong && cache.logBytes <= reserve / 4 * 3)
    }

    /// Begins the log anew, where no reader keeps it.
    private func truncateLog(_ cache: OpenCache) -> Bool {
        let isDone = cache.truncateLog(waitingAtMost: logPatience)
        logPatience = isDone ? Self.longLogPatience : 0
        return isDone
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
        let left = try? inDatabase { () throws(DatabaseError) -> [Int64] in
            let owners = try cache.database.numbers(
                "SELECT DISTINCT owner FROM pending WHERE owner <> ?", .number(cache.lock.owner))
            var files: [Int64] = []
            for owner in owners where !cache.lock.isAlive(owner) && files.count < 64 {
                files += try cache.database.numbers(
                    "SELECT file FROM pending WHERE owner = ? LIMIT 64", .number(owner))
            }
            return files
        }
        guard let left, !left.isEmpty else {
            if cache.lock.isOnlyOne { giveBackRoom(cache) }
            return true
        }
        remove(left)
        settle()
        return false
    }

    /// Gives back what bodies have not grown to, because whoever let them grow was killed. Only while there is nobody else,
    /// who may be letting one grow.
    private func giveBackRoom(_ cache: OpenCache) {
        _ = try? transaction(cache) { (state) throws(StoreFailure) in
            var rows: [EntryRow] = []
            try inDatabase { () throws(DatabaseError) in
                try cache.database.query(
                    "SELECT \(EntryRow.columns) FROM entry WHERE rank < 0 AND file <> 0 AND room > length LIMIT 1024"
                ) { (row: borrowing Row) throws(DatabaseError) in
                    rows.append(EntryRow(row))
                    return true
                }
            }
            for row in rows {
                guard let size = try? configuration.fileSystem.status(paths.body(row.file)).size, size < row.room
                else { continue }
                let room = max(size, row.length)
                try inDatabase { () throws(DatabaseError) in
                    try cache.database.change(
                        "UPDATE entry SET room = ? WHERE id = ?", .number(room), .number(row.id))
                }
                state.fileBytes = max(0, state.fileBytes + room - row.room)
            }
        }
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

extension DiskStore.Configuration {
    func bodies(in paths: CachePaths) -> BodyFiles {
        BodyFiles(paths: paths, fileSystem: fileSystem, synchronizes: durability == .powerCut)
    }
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

    fileprivate var isStoring: Bool {
        switch work {
        case .keep, .extend: true
        default: false
        }
    }
}

/// What a reader has to know to open an index: whose it is, and which file.
struct OpenIndex: Sendable, Hashable {
    var identity: UInt64
    var index: FileStatus.Identity
    /// Where it lies, without symbolic links.
    var paths: CachePaths
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
