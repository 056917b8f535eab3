internal import InflightConcurrency
internal import InflightCore
internal import InflightFiles
internal import InflightSQLite

/// Makes all changes to the cache, in batches of operations with one transaction each.
// Unchecked: all mutable state is confined to the writer's thread.
final class Writer: @unchecked Sendable {
    let configuration: DiskStore.Configuration
    /// The paths as of the last opening, without symbolic links.
    private(set) var paths: CachePaths
    /// The index that readers may open. Set when the folder is opened, and nil while it is unusable.
    private let opened: Guarded<OpenIndex?>
    private let lastFailure = Guarded<LoadError?>(nil)
    /// The last damaged index, if no verification has reported it yet.
    private let discarded = Guarded<DiscardedIndex?>(nil)

    private(set) var cache: OpenCache?
    private var nextAttempt = MonotonicTime.zero
    private var isKnownUnavailable = false
    /// The body bytes of the largest batch that could not be written since the folder became unavailable.
    private var refusedBytes = 0
    /// Removed files whose space is still counted. The next transaction releases it.
    private var removedFiles: [Int64] = []
    /// Files that no row names any longer and that could not be removed yet.
    private var unremovedFiles: [Int64] = []
    /// Whether the leftovers of stores that are no longer open have been removed.
    private var hasSwept = false
    /// How long to wait for readers of the log, in milliseconds; 0 after a timeout until a truncation succeeds.
    private var logTimeout = Writer.longLogTimeout
    private static let longLogTimeout: Int32 = 250
    /// Checksums of growing bodies, so that their existing bytes need not be read again.
    var sums = RunningChecksums()

    init(_ configuration: DiskStore.Configuration, opened: Guarded<OpenIndex?>) {
        self.configuration = configuration
        self.opened = opened
        paths = CachePaths(folder: configuration.folder)
    }

    var bodies: BodyFiles { configuration.bodies(in: paths) }

    /// The reason why the last attempt to use the folder failed, if it did. Any thread.
    var unavailability: LoadError? { lastFailure.withLock { $0 } }

    /// Returns the last damaged index that was discarded, once. Any thread.
    func takeDiscarded() -> DiscardedIndex? {
        discarded.withLock { discarded in
            defer { discarded = nil }
            return discarded
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
            folder: try inFiles("the folder", configuration.fileSystem.resolved(configuration.folder)))
        return CacheOpener(
            paths: paths, named: configuration.folder, fileSystem: configuration.fileSystem,
            indexFileSystem: configuration.indexFileSystem, layout: configuration.layout,
            durability: configuration.durability, logLimit: configuration.logReserve,
            createsFolder: configuration.createsFolder)
    }

    /// - Parameter checksPath: Whether to check that the path still names the open index, as each transaction does.
    private func openIfNeeded(checksPath: Bool = true) {
        if let cache, !checksPath || (try? configuration.fileSystem.status(paths.index))?.identity == cache.index {
            return
        }
        let now = configuration.clock.now()
        if cache == nil, isKnownUnavailable, now < nextAttempt { return }
        close()
        adopt { () throws(StoreFailure) in try opener().open() }
    }

    private func replaceIfDamaged(_ index: FileStatus.Identity) {
        // An index reported again after its replacement is no longer the open one.
        guard cache?.index == index else { return openIfNeeded() }
        // It may be the log that is damaged.
        cache?.database.copiesLogWhenClosed(false)
        close()
        adopt { () throws(StoreFailure) in try opener().openDamaged() }
    }

    private func adopt(_ open: () throws(StoreFailure) -> CacheOpener.Opened) {
        do {
            let opened = try open()
            cache = opened.cache
            hasSwept = false
            let index = OpenIndex(
                identity: opened.cache.identity, index: opened.cache.index, paths: opened.cache.paths)
            self.opened.withLock { $0 = index }
            if let index = opened.discarded {
                discarded.withLock { $0 = index }
                configuration.onEvent?(.indexDiscarded(lost: index.entries))
            }
        } catch {
            fail(error)
        }
    }

    private func fail(_ failure: StoreFailure) {
        close()
        note(failure)
        nextAttempt = configuration.clock.now() + .seconds(1)
    }

    func close() {
        opened.withLock { $0 = nil }
        cache = nil
        (removedFiles, unremovedFiles) = ([], [])
        sums = RunningChecksums()
    }

    // MARK: Failures

    /// Records that something could not be written, and reports it once. Entries stay readable, and later writes are
    /// attempted.
    ///
    /// - Parameter bytes: The number of body bytes that could not be written.
    func note(_ failure: StoreFailure, bytes: Int = 0) {
        let error = failure.error(folder: configuration.folder)
        if !isKnownUnavailable { configuration.onEvent?(.unavailable(error)) }
        isKnownUnavailable = true
        refusedBytes = max(refusedBytes, bytes)
        lastFailure.withLock { $0 = error }
    }

    /// A short body may still fit on a full disk. If that were a recovery, each long body would be reported again.
    private func noteSuccess(bytes: Int) {
        guard isKnownUnavailable, bytes >= refusedBytes else { return }
        isKnownUnavailable = false
        refusedBytes = 0
        lastFailure.withLock { $0 = nil }
        configuration.onEvent?(.recovered)
    }

    // MARK: Batches

    /// Runs a batch, then calls each operation's completion.
    func run(_ batch: WriteQueue.Batch) {
        if case .replaceIfDamaged(let index)? = batch.operations.first?.work { replaceIfDamaged(index) }
        openIfNeeded(checksPath: !batch.changesIndex)
        let outcomes = outcomes(of: batch)
        for (operation, outcome) in zip(batch.operations, outcomes) { operation.completion(outcome) }
        releaseRemovedFilesIfMany()
    }

    private func outcomes(of batch: WriteQueue.Batch) -> [WriteOperation.Outcome] {
        let failed = [WriteOperation.Outcome](repeating: .failed, count: batch.operations.count)
        guard let cache else { return failed }
        do {
            return try attempt(batch, in: cache)
        } catch {
            if case .replaced = error { return again(batch) }
            if error.isDamage {
                replaceIfDamaged(cache.index)
                return again(batch)
            }
            if error.isLogFull, truncateLog(cache), let done = try? attempt(batch, in: cache) { return done }
            if batch.operations.count > 1 {
                // One operation that fails, for example for lack of space, must not fail the others.
                return batch.operations.flatMap { outcomes(of: WriteQueue.Batch(operations: [$0])) }
            }
            if !error.isBusy, !error.isLogFull { note(error, bytes: batch.operations.reduce(0) { $0 + $1.bytes }) }
            return failed
        }
    }

    /// Runs the batch once more, after reopening the index.
    private func again(_ batch: WriteQueue.Batch) -> [WriteOperation.Outcome] {
        openIfNeeded()
        guard let cache, let outcomes = try? attempt(batch, in: cache) else {
            return [WriteOperation.Outcome](repeating: .failed, count: batch.operations.count)
        }
        return outcomes
    }

    private func attempt(
        _ batch: WriteQueue.Batch, in cache: OpenCache
    ) throws(StoreFailure) -> [WriteOperation.Outcome] {
        guard batch.changesIndex else {
            return batch.operations.map { _ in .done }
        }
        if case .sweep? = batch.operations.first?.work {
            if sweepSome(cache) == .someLeft { return [.done] }
            bodies.removeEmptyFolders()
            _ = try? cache.database.checkpoint(.passive)
            return [.failed]
        }
        if !keepsLogShort(cache), batch.operations.contains(where: \.isStoring) {
            // The rest of the log is reserved for operations that remove entries or mark them stale.
            return batch.operations.flatMap { operation -> [WriteOperation.Outcome] in
                operation.isStoring ? [.failed] : self.outcomes(of: WriteQueue.Batch(operations: [operation]))
            }
        }
        let transaction = BatchTransaction(writer: self, cache: cache, batch: batch)
        defer { if !hasSwept { hasSwept = sweepSome(cache) == .finished } }
        let outcomes = try transaction.run()
        if !transaction.hadTrouble {
            noteSuccess(bytes: zip(batch.operations, outcomes).reduce(0) { $0 + ($1.1.isFailed ? 0 : $1.0.bytes) })
        }
        return outcomes
    }

    /// Copies the log into the index before it is full. SQLite itself fails commits that would exceed the limit.
    ///
    /// - Returns: Whether the log has space to store another response.
    private func keepsLogShort(_ cache: OpenCache) -> Bool {
        let reserve = configuration.logReserve
        // A store with a larger limit may have left a longer log.
        let isTooLong = cache.logFileBytes > reserve
        guard isTooLong || cache.logBytes > reserve / 2 else { return true }
        if !isTooLong, (try? cache.database.checkpoint(.passive)) == true { return true }
        guard isTooLong || cache.logBytes > reserve / 8 * 5 else { return true }
        return truncateLog(cache) || (!isTooLong && cache.logBytes <= reserve / 4 * 3)
    }

    /// Truncates the log, unless a reader still uses it.
    private func truncateLog(_ cache: OpenCache) -> Bool {
        let isDone = cache.truncateLog(waitingAtMost: logTimeout)
        logTimeout = isDone ? Self.longLogTimeout : 0
        return isDone
    }

    // MARK: Removed files

    /// Removes files that no row names any longer. That change must be committed.
    func remove(_ files: [Int64]) {
        for file in files {
            if bodies.remove(file) { removedFiles.append(file) } else { unremovedFiles.append(file) }
        }
    }

    private func retryRemovals() {
        let files = unremovedFiles.prefix(16)
        unremovedFiles.removeFirst(files.count)
        remove(Array(files))
    }

    /// Runs a transaction that also releases the space of removed files.
    func transaction<Result>(
        _ cache: OpenCache, _ body: (inout IndexState) throws(StoreFailure) -> Result
    ) throws(StoreFailure) -> Result {
        let gone = removedFiles
        let result = try cache.transaction(probe: configuration.commitProbe) { (state) throws(StoreFailure) in
            for file in gone { try cache.forget(file, &state) }
            return try body(&state)
        }
        removedFiles.removeFirst(gone.count)
        return result
    }

    private func releaseRemovedFilesIfMany() {
        if !unremovedFiles.isEmpty { retryRemovals() }
        if removedFiles.count >= 64 { releaseRemovedFiles() }
    }

    /// - Returns: Whether space was released.
    @discardableResult
    private func releaseRemovedFiles() -> Bool {
        guard !removedFiles.isEmpty, let cache else { return false }
        do throws(StoreFailure) {
            try transaction(cache) { (_) throws(StoreFailure) in }
            return true
        } catch {
            guard error.isLogFull, truncateLog(cache) else { return false }
            return (try? transaction(cache) { (_) throws(StoreFailure) in }) != nil
        }
    }

    private enum Sweep {
        case finished, someLeft
        /// What is left cannot be removed now: a file, or its row while the log is full.
        case stuck
    }

    /// Removes some of the files that stores were writing, or still had to remove, when they ended.
    private func sweepSome(_ cache: OpenCache) -> Sweep {
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
        guard let left else { return .stuck }
        if left.isEmpty {
            if cache.lock.isOnlyOne { releaseUnusedSpace(cache) }
            return .finished
        }
        // Those of an earlier sweep are removed, or tried again, with the next batch.
        let known = Set(removedFiles).union(unremovedFiles)
        remove(left.filter { !known.contains($0) })
        return releaseRemovedFiles() ? .someLeft : .stuck
    }

    /// Releases the space that was reserved for bodies whose writer was killed before it used all of it. Only done
    /// while no other store is open, since that store might be extending such a body.
    private func releaseUnusedSpace(_ cache: OpenCache) {
        _ = try? transaction(cache) { (state) throws(StoreFailure) in
            let rows = try inDatabase(
                cache.database.rows(
                    "SELECT \(EntryRow.columns) FROM entry WHERE rank < 0 AND file <> 0 AND room > length LIMIT 1024"
                ) { EntryRow($0) })
            for row in rows {
                guard let size = try? configuration.fileSystem.status(paths.body(row.file)).size, size < row.room
                else { continue }
                let room = max(size, row.length)
                try inDatabase(
                    cache.database.change(
                        "UPDATE entry SET room = ? WHERE id = ?", .number(room), .number(row.id)))
                state.fileBytes = max(0, state.fileBytes + room - row.room)
            }
        }
    }

    /// Does the remaining work before the store closes.
    func finish() {
        if let cache {
            retryRemovals()
            releaseRemovedFiles()
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

extension WriteQueue.Batch {
    fileprivate var changesIndex: Bool { !touches.isEmpty || operations.contains(where: \.changesIndex) }
}

extension WriteOperation {
    fileprivate var changesIndex: Bool {
        switch work {
        case .open, .replaceIfDamaged: false
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

/// The cache and the index file that a reader opens.
struct OpenIndex: Sendable, Hashable {
    var identity: UInt64
    var index: FileStatus.Identity
    /// The paths without symbolic links.
    var paths: CachePaths
}

/// The checksums of growing bodies, by entry. The capacity covers the downloads likely to be in flight at once.
struct RunningChecksums {
    private var sums: [Int64: (length: Int64, sum: XXH64)] = [:]

    func sum(_ id: Int64, length: Int64) -> XXH64? {
        guard let known = sums[id], known.length == length else { return nil }
        return known.sum
    }

    mutating func set(_ id: Int64, length: Int64, _ sum: XXH64) {
        if sums.count >= 128, sums[id] == nil { sums.removeAll() }
        sums[id] = (length, sum)
    }

    mutating func forget(_ id: Int64) {
        sums[id] = nil
    }
}
