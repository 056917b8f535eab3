internal import Dispatch
internal import Glibc
internal import InflightConcurrency
package import InflightCore
internal import InflightSQLite

/// A run of `inflight batch`: reads rows, fetches each URL once, records every outcome, and writes shards.
///
/// A ``RowRunner`` takes each row from its turn to its image. This class is where rows come from and where images go:
/// it holds the ``RowSource``, the journal and the staged images, and writes the shards that the ``ShardBook`` finds
/// complete. Everything happens on one serial queue, except reading the inputs, decoding and
/// encoding, and writing shards, which have threads of their own.
///
/// - Rows in flight when a process is killed are fetched again, at most ``HostSchedule/Configuration/maximumRequests``
///   and ``uncommittedLimit`` more.
/// - `stop()` ends the run soon, and keeps all recorded rows. The same run continues later.
// Unchecked: mutable state is accessed only on `queue`, or before the run starts.
package final class BatchRun: @unchecked Sendable {
    /// The number of recorded rows after which the journal is committed.
    package static let uncommittedLimit = 64
    /// The maximum time until recorded rows are committed.
    private static let commitInterval = Duration.milliseconds(200)

    private let configuration: BatchConfiguration
    private let queue = DispatchQueue(label: "inflight.batch")
    private let onEvent: @Sendable (BatchEvent) -> Void
    private var onEnd: (@Sendable (BatchEnding) -> Void)?
    private let clock = SystemClock()
    private let journal: Journal
    private let layout: ShardLayout
    private let staging: StagingFolder
    private let rejects: RejectFile
    private let source: RowSource
    private let runner: RowRunner<BatchRun>
    private var book: ShardBook
    private let shardThread = WorkerThreads(count: 1, name: "inflight-shards")

    private let handOver: HandOver?
    /// The finished shards whose files are being handed over, or wait for that.
    private var leaving: Set<Int> = []
    /// The finished shards whose files are not in the folder any more.
    private var absent = ShardSet()
    /// The number of rows in finished shards whose last one is short and absent, so that no rows may follow.
    private var closedRowCount: Int?
    private var onHandOverEnd: (() -> Void)?

    /// The finished shards whose rows are ended again, and written anew.
    private let reopened: Set<Int>
    /// The recorded outcomes of the open shard that is being read.
    private var recorded: (shard: Int, outcomes: [Int: RowOutcome<Int64>]) = (-1, [:])
    /// The names of the input's columns that pass through, until the first shard was read those seen so far.
    private var ownColumns: [String]
    private var writer: ShardWriter.Configuration?
    /// The number of assemblies of each open shard that found lost images.
    private var lostAssemblies: [Int: Int] = [:]
    /// When the first row of each open shard was read.
    private var shardStarts: [Int: Duration] = [:]
    private var uncommitted = 0
    private var commitTimer: (any ScheduledWork)?
    private var hasWarnedOfColumns = false
    private var hasEnded = false
    /// Set when the run ends, so that no shard is written any more.
    private let cancellation = CancellationFlag()

    /// Opens the output folder, the journal and the inputs of a run.
    ///
    /// - Parameters:
    ///   - configuration: What the run is told.
    ///   - pipeline: Fetches and decodes. The run does not shut it down.
    ///   - onEvent: Called with the events of the run, in their order, on its queue.
    /// - Throws: ``BatchFailure`` if the run cannot begin.
    package init(
        _ configuration: BatchConfiguration, pipeline: ImagePipeline,
        onEvent: @escaping @Sendable (BatchEvent) -> Void
    ) throws(BatchFailure) {
        guard let layout = ShardLayout(shardSize: configuration.shardSize, part: configuration.part) else {
            throw .inconsistent("a shard of \(configuration.shardSize) rows")
        }
        self.configuration = configuration
        self.layout = layout
        self.onEvent = onEvent
        let columns = configuration.columns
        // Every sidecar has them, although the reader takes them out of the other columns.
        let named = [columns.idColumn, columns.captionColumn].compactMap(\.self)
        ownColumns = named + (configuration.ownColumns ?? []).filter { !named.contains($0) }
        let journal = try Journal(folder: configuration.folder, options: configuration.outputOptions, layout: layout)
        self.journal = journal
        source = try RowSource(configuration, journal, layout)
        let folder = configuration.folder
        let names = try OutputFolder.names(in: folder)
        for name in names where name.hasSuffix(OutputFile.temporarySuffix) {
            try OutputFolder.removeAny(folder + "/" + name)
        }
        absent = journal.handedOverShards.absent(names, layout)
        let queue = self.queue
        handOver = try configuration.then.map { program throws(BatchFailure) in
            try HandOver(program) { text in queue.async { onEvent(.warning(text)) } }
        }
        // All inputs are read again, so all rejects are written again.
        try OutputFolder.remove(file: folder + "/rejects.jsonl")
        staging = try StagingFolder(in: folder)
        rejects = try RejectFile(path: folder + "/rejects.jsonl")
        try source.createFiles(in: staging.path)
        let finished = journal.finishedShards
        var reopened = try Self.retriedShards(configuration, journal)
        if let last = try Self.growingShard(journal, layout, source) {
            if absent.contains(last), !reopened.contains(last) {
                // Unless the input has grown, nothing needs this shard.
                closedRowCount = try journal.finishedShard(last)?.rows.upperBound
            } else {
                reopened.insert(last)
            }
        }
        self.reopened = reopened
        var missing = reopened.filter(absent.contains)
        if configuration.then != nil {
            missing.formUnion(
                finished.subtracting(Set(journal.handedOverShards.ranges.joined())).absent(names, layout).ranges
                    .joined())
        }
        guard missing.isEmpty else { throw .absent(folder, shards: missing.sorted().map(layout.shardName)) }
        try staging.removeFiles { !finished.contains($0) || reopened.contains($0) }
        var limits = ShardBook.Configuration(
            layout: layout, stagingLimit: configuration.stagingLimit, openShardLimit: Self.openShardLimit(layout))
        limits.bytesPerRowInFlight = Self.expectedImageBytes
        limits.nearShards = Self.nearShards
        limits.maximumAssemblies = Self.assemblyLimit
        book = ShardBook(limits, finishedShards: finished.subtracting(reopened))
        runner = RowRunner(configuration.rows, pipeline: pipeline, queue: queue)
    }

    /// Reading stops this many shards behind the oldest one that lacks a row: a slow host delays the others only then.
    /// A row of an open shard takes up to three bytes of memory, and a shard some hundred.
    private static func openShardLimit(_ layout: ShardLayout) -> Int {
        min(4_096, max(16, (1 << 24) / layout.shardSize))
    }

    /// The patience of rows counts in this number of shards, from the oldest one that lacks a row. Rows of later ones
    /// are read early, for the sake of other hosts, and may fill half of the staging folder.
    private static let nearShards = 16

    /// One is written, and one waits for the thread.
    private static let assemblyLimit = 2
    /// The number of assemblies of a shard that may find lost images, which are fetched again. More are a fault of the
    /// disk that fetching cannot cure.
    private static let lostAssemblyLimit = 5
    private static let expectedImageBytes: Int64 = 32 << 10

    /// Returns the finished shards that are written again because a retry concerns them.
    private static func retriedShards(
        _ configuration: BatchConfiguration, _ journal: Journal
    ) throws(BatchFailure) -> Set<Int> {
        let retried = try journal.failuresByClass().keys.filter(configuration.retries)
        return retried.isEmpty ? [] : Set(try journal.finishedShards(withFailures: Set(retried)))
    }

    /// Returns the last finished shard if it may get more rows.
    private static func growingShard(
        _ journal: Journal, _ layout: ShardLayout, _ source: RowSource
    ) throws(BatchFailure) -> Int? {
        let last = journal.finishedShards.end - 1
        guard last >= 0, source.mayHaveGrown, let shard = try journal.finishedShard(last),
            shard.rows.count < layout.shardSize
        else { return nil }
        return last
    }

    // MARK: Start and end

    /// Starts the run. `onEnd` is called once, on the run's queue.
    package func start(onEnd: @escaping @Sendable (BatchEnding) -> Void) {
        queue.async { [self] in
            self.onEnd = onEnd
            let summary = try? journal.summary()
            let rows = summary.map { $0.successes + $0.duplicates + $0.failures } ?? 0
            onEvent(.started(resumedRows: rows, finishedShards: journal.finishedShards.count))
            source.start(InputFeed(queue: queue, hasDigests: true) { [self] in runner.schedule() })
            countPatience()
            do throws(BatchFailure) {
                try continueHandOver()
                runner.begin(self)
            } catch {
                runnerDidFail(error)
            }
        }
    }

    /// Stops the run soon. Any thread may call it.
    package func stop() {
        queue.async { [self] in
            guard !hasEnded else { return }
            do throws(BatchFailure) {
                try commit()
                end(.stopped)
            } catch {
                end(.failed(error))
            }
        }
    }

    /// Delivers the state of the run, on its queue.
    package func state(_ deliver: @escaping @Sendable (BatchState) -> Void) {
        queue.async { [self] in
            var state = BatchState()
            state.running = runner.runningCount
            state.rowsRead = source.rowCount
            state.rowCount = source.isAtEnd ? source.rowCount : nil
            state.estimatedRowCount = source.isAtEnd ? nil : source.estimatedRowCount
            state.stagedBytes = book.stagedBytes
            state.stagingWasFull = book.fullCount
            state.stragglers = runner.stragglers(limit: 3)
            deliver(state)
        }
    }

    private func end(_ ending: BatchEnding) {
        guard !hasEnded else { return }
        hasEnded = true
        runner.stop()
        source.stop()
        commitTimer?.cancel()
        cancellation.cancel()
        handOver?.cancel()
        // Another run may use the folder once no thread of this one writes to it any more.
        runner.whenIdle { [self] in
            shardThread.run { [self] in
                queue.async { [self] in
                    whenHandedOver { [self] in
                        journal.close()
                        onEnd?(ending)
                        onEnd = nil
                    }
                }
            }
        }
    }

    private func finish() throws(BatchFailure) {
        try commit()
        try rejects.close()
        try OutputFolder.remove(staging.path)
        end(.finished)
    }

    // MARK: Journal

    private func record(_ row: Int, _ outcome: RowOutcome<StagedImage>, host: String) throws(BatchFailure) {
        try journal.record(JournalRow(number: row, host: host, outcome: outcome))
        uncommitted += 1
        if uncommitted >= Self.uncommittedLimit { try commit() }
    }

    private func commit() throws(BatchFailure) {
        commitTimer?.cancel()
        commitTimer = nil
        uncommitted = 0
        // Rejects first, so that all rows before a recorded one are in the file.
        try rejects.flush()
        try journal.commit()
    }

    private func commitSoon() throws(BatchFailure) {
        guard uncommitted > 0, commitTimer == nil else { return }
        commitTimer = clock.schedule(at: clock.now() + Self.commitInterval) { [self] in
            queue.async { [self] in
                guard !hasEnded else { return }
                do throws(BatchFailure) { try commit() } catch { end(.failed(error)) }
            }
        }
    }
}

// MARK: - Reading

extension BatchRun: RowSink {
    var wantsRow: Bool { book.wantsRow(source.rowCount) }
    var isBlocked: Bool { leaving.count >= Self.handOverLimit }

    func readRow() throws(BatchFailure) -> Bool {
        switch try source.next(onEvent) {
        case nil: return false
        case .row(let row): try add(row)
        case .reject(let reject, let file):
            try rejects.append(reject, of: file)
            onEvent(.rejected(file: file, line: reject.line, reason: reject.reason.description))
        case .ended(let count):
            onEvent(.inputEnded(rows: source.rowCount, rejects: count))
            try perform(book.inputDidEnd(rowCount: source.rowCount))
            return false
        }
        return true
    }

    private func add(_ row: RowSource.Row) throws(BatchFailure) {
        let number = row.number
        let shard = layout.position(of: number).shard
        if shard == 0, configuration.ownColumns == nil {
            for column in row.input.columns where !ownColumns.contains(column.name) { ownColumns.append(column.name) }
        }
        if let count = closedRowCount, number >= count, journal.finishedShards.contains(shard) {
            throw .absent(configuration.folder, shards: [layout.shardName(shard)])
        }
        // A finished shard needs nothing.
        guard !journal.finishedShards.contains(shard) || reopened.contains(shard) else { return }
        try source.keep(row, shard: shard)
        if shardStarts[shard] == nil { shardStarts[shard] = runner.now }
        if recorded.shard != shard { recorded = (shard, try recordedOutcomes(of: shard)) }
        let known = recorded.outcomes.removeValue(forKey: number)
        let host = (try? row.place.get())?.host ?? ""
        if let original = original(of: row, known) {
            if case .duplicate? = known {} else { try recordDuplicate(number, of: original, host) }
            return try end(number, .duplicate(of: original))
        }
        if row.original != nil { try source.makeOriginal(row) }
        switch known {
        case .success?, .failure?: if let known { try end(number, known) }
        case .duplicate?, nil:
            switch row.place {
            case .success(let place): runner.add(number, place)
            case .failure(let error):
                let outcome = RowResult<StagedImage>.Outcome.failure(
                    class: FailureClasses.name(error), message: error.message)
                try rowDidEnd(number, host: host, RowResult(outcome))
            }
        }
    }

    private func recordDuplicate(_ row: Int, of original: Int, _ host: String) throws(BatchFailure) {
        try record(row, .duplicate(of: original), host: host)
        onEvent(.rowEnded(BatchRowEnd(row: row, host: host, kind: .duplicate)))
    }

    /// Returns the outcomes of a shard's rows that an earlier run has recorded and that hold. Called before the shard's
    /// first image is staged.
    private func recordedOutcomes(of shard: Int) throws(BatchFailure) -> [Int: RowOutcome<Int64>] {
        var rows = try journal.rows(of: shard)
        rows = try staged(rows, shard)
        if reopened.contains(shard) {
            try reopen(shard, except: Set(rows.map(\.number)))
            rows = try journal.rows(of: shard)
        }
        var outcomes: [Int: RowOutcome<Int64>] = [:]
        for row in rows {
            switch row.outcome {
            case .success(let image): outcomes[row.number] = .success(image.size)
            case .failure(let name, let message):
                if configuration.retries(name) { continue }
                outcomes[row.number] = .failure(class: name, message: message)
            case .duplicate(let original): outcomes[row.number] = .duplicate(of: original)
            }
        }
        return outcomes
    }

    /// Removes the records of rows whose images are not staged any more, so that they are fetched again. Returns the
    /// other rows of the shard.
    private func staged(_ rows: [JournalRow], _ shard: Int) throws(BatchFailure) -> [JournalRow] {
        var lost: Set<Int> = []
        for row in rows {
            guard case .success(let image) = row.outcome else { continue }
            if !(try staging.holds(image, shard: shard)) { lost.insert(row.number) }
        }
        if lost.isEmpty { return rows }
        try journal.forget(lost)
        try commit()
        warnOfLostImages(lost.count, shard)
        return try journal.rows(of: shard)
    }

    private func warnOfLostImages(_ count: Int, _ shard: Int) {
        let images = count == 1 ? "1 staged image" : "\(count) staged images"
        onEvent(
            .warning(
                "\(images) of shard \(layout.shardName(shard)) did not survive a failure of the power or the disk. "
                    + "Fetching again."))
    }

    /// Stages the images of a finished shard, and records its rows as those of an open one, except those that a run
    /// before has recorded.
    private func reopen(_ shard: Int, except recorded: Set<Int>) throws(BatchFailure) {
        guard let finished = try journal.finishedShard(shard) else { return }
        let reader = try ShardReader(shard, writerConfiguration(schema: SidecarSchema()))
        try reader.rows { (index, row) throws(BatchFailure) in
            guard index < finished.classes.count else { return }
            let number = finished.rows.lowerBound + index
            if recorded.contains(number) { return }
            let outcome: RowOutcome<StagedImage>
            if case .failure(let name) = finished.classes[index] {
                outcome = .failure(class: name, message: row.errorMessage ?? "")
            } else {
                let image = Bytes(try reader.image(row).bytes())
                var staged = try staging.append(image, shard: shard)
                staged.record = row.image
                outcome = .success(staged)
            }
            let host = (try? ResourceURL(row.url))?.origin?.host ?? ""
            try record(number, outcome, host: host)
        }
    }

    // MARK: - Fetching

    func place(of row: Int) throws(BatchFailure) -> RowPlace { try source.place(of: row) }

    func admit(_ row: Int, since: Duration) throws(BatchFailure) -> Bool {
        guard book.admits(row) else {
            book.park(row, since: since)
            return false
        }
        try book.rowDidStart(row)
        return true
    }

    func takeAdmitted(room: Int) -> [(number: Int, since: Duration)] { book.unpark(room: room) }

    func store(for row: Int) -> @Sendable (Bytes) throws(BatchFailure) -> StagedImage {
        let shard = layout.position(of: row).shard
        return { [staging] image throws(BatchFailure) in try staging.append(image, shard: shard) }
    }

    func rowDidEnd(_ row: Int, host: String, _ result: RowResult<StagedImage>) throws(BatchFailure) {
        var report = BatchRowEnd(row: row, host: host, kind: .success)
        report.receivedBytes = result.receivedBytes
        let outcome: RowOutcome<Int64>
        switch result.outcome {
        case .image(var staged, let size, let image):
            report.digest = image.sha256
            report.imageBytes = size
            if let original = try original(of: row, image.sha256) {
                report.kind = .duplicate
                try record(row, .duplicate(of: original), host: host)
                outcome = .duplicate(of: original)
            } else {
                staged.record = image
                try record(row, .success(staged), host: host)
                outcome = .success(size)
            }
        case .failure(let name, let message):
            report.kind = .failure(class: name)
            report.message = message
            try record(row, .failure(class: name, message: message), host: host)
            outcome = .failure(class: name, message: message)
        }
        onEvent(.rowEnded(report))
        try end(row, outcome)
    }

    /// Returns the earlier row that stores the same body, if bodies are stored once.
    private func original(of row: Int, _ digest: ContentDigest?) throws(BatchFailure) -> Int? {
        guard configuration.deduplicatesContent, let digest else { return nil }
        if let original = try journal.row(withContent: digest), original < row, isAvailable(original, to: row) {
            return original
        }
        try journal.record(digest, storedInRow: row)
        return nil
    }

    func runnerDidRest() throws(BatchFailure) {
        if book.isFinished, leaving.isEmpty { return try finish() }
        try commitSoon()
    }

    func runnerDidFail(_ failure: BatchFailure) {
        // What was recorded is kept as far as the journal can be written.
        try? commit()
        end(.failed(failure))
    }

    // MARK: - Shards

    private func end(_ row: Int, _ outcome: RowOutcome<Int64>) throws(BatchFailure) {
        try perform(book.rowDidEnd(row, outcome))
    }

    private func perform(_ actions: [ShardBook.Action]) throws(BatchFailure) {
        for action in actions {
            switch action {
            case .assemble(let shard, let rows, let parts): try assemble(shard, rows, parts)
            // What cannot be removed now is removed with the folder, or by the next run.
            case .discard(let shard): shardThread.run { [staging] in try? staging.remove(shard: shard) }
            }
        }
    }

    private func countPatience() {
        let shard = book.finishedShards.firstMissing + Self.nearShards
        runner.countPatience(ofRowsBefore: layout.rows(of: shard).lowerBound)
    }

    private func writerConfiguration(schema: SidecarSchema) -> ShardWriter.Configuration {
        ShardWriter.Configuration(
            folder: configuration.folder, layout: layout, form: configuration.form, schema: schema,
            imageExtension: configuration.rows.treatment.imageExtension,
            hasCaptions: configuration.columns.captionColumn != nil)
    }

    private func assemble(_ shard: Int, _ range: Range<Int>, _ parts: [ShardBook.Part]) throws(BatchFailure) {
        guard let contents = source.takeRows(of: shard) else { throw .inconsistent("shard \(shard) has no rows") }
        // All rows of the first shard were read before any shard is complete.
        let writer =
            writer
            ?? writerConfiguration(
                schema: SidecarSchema(ownColumns: ownColumns, hasErrorClass: journal.hasErrorClass))
        self.writer = writer
        let parts = try journal.parts(of: shard, range, parts)
        let start = shardStarts[shard] ?? runner.now
        let assembly = ShardAssembly(
            shard: shard, parts: parts, rows: contents, writer: writer, staging: staging,
            columns: configuration.columns, ownColumns: ownColumns, duration: runner.now - start,
            cancellation: cancellation)
        shardThread.run { [self] in
            let result = Result { () throws(BatchFailure) in try assembly.run() }
            queue.async { [self] in
                guard !hasEnded else { return }
                do throws(BatchFailure) {
                    switch try result.get() {
                    case .written(let result): try didAssemble(shard, range, result)
                    case .lost(let images):
                        source.putBack(contents, of: shard)
                        try didLose(images, shard)
                    }
                } catch {
                    runnerDidFail(error)
                }
            }
        }
    }

    private func didLose(_ images: Set<Int>, _ shard: Int) throws(BatchFailure) {
        lostAssemblies[shard, default: 0] += 1
        // Another fetch may bring another body than that of the rows that are duplicates by their bodies. A run that
        // resumes fetches these again, too.
        guard lostAssemblies[shard, default: 0] <= Self.lostAssemblyLimit, !configuration.deduplicatesContent else {
            throw .output(
                damaged: staging.file(shard),
                "\(images.count) images are not as they were written. Check the disk, then run the same command "
                    + "again.")
        }
        warnOfLostImages(images.count, shard)
        let next = try book.shardDidLose(images, shard: shard)
        try perform(next.actions)
        for row in next.restarted { try runner.addAgain(row, since: runner.now, self) }
        runner.schedule()
    }

    private func didAssemble(
        _ shard: Int, _ range: Range<Int>, _ result: ShardAssembly.Result
    ) throws(BatchFailure) {
        shardStarts[shard] = nil
        lostAssemblies[shard] = nil
        try commit()
        try journal.finish(shard, rows: range, images: result.imageBlocks)
        try perform(book.shardDidAssemble(shard))
        countPatience()
        let others = result.rowsWithOtherColumns
        // Columns that --columns omits are left out on purpose.
        if others > 0, configuration.ownColumns == nil, !hasWarnedOfColumns {
            hasWarnedOfColumns = true
            onEvent(
                .warning(
                    "Shard \(layout.shardName(shard)) has \(others) rows with columns that are not in the output. "
                        + "Name all columns with --columns."))
        }
        onEvent(.shardFinished(shard: shard, result.stats))
        handOver(shard)
        runner.schedule()
    }
}

// MARK: - Hand-over

extension BatchRun {
    /// The number of shards that wait for the program of `--then` at which no more rows are started, so that a slow one
    /// does not fill the disk.
    private static let handOverLimit = 8

    private var removesFiles: Bool { handOver.map { !$0.program.keepsFiles } ?? false }

    /// Hands over what an earlier run has not, and removes what it has.
    private func continueHandOver() throws(BatchFailure) {
        guard handOver != nil else { return }
        for shard in book.finishedShards.ranges.joined() {
            if journal.handedOverShards.contains(shard) { try removeFiles(of: shard) } else { handOver(shard) }
        }
    }

    private func handOver(_ shard: Int) {
        guard let handOver else { return }
        leaving.insert(shard)
        handOver.start(layout.fileNames(shard).map { configuration.folder + "/" + $0 }) { [self] result in
            queue.async { [self] in
                leaving.remove(shard)
                do throws(BatchFailure) {
                    try result.get()
                    // Also if the run has ended meanwhile: it need not be done again.
                    try journal.handOver(shard)
                    onEvent(.handedOver(shard: shard))
                    try removeFiles(of: shard)
                    if !hasEnded { runner.schedule() }
                } catch {
                    if !hasEnded { runnerDidFail(error) }
                }
                if leaving.isEmpty { onHandOverEnd.take()?() }
            }
        }
    }

    /// Calls `body` once no shard is handed over any more.
    private func whenHandedOver(_ body: @escaping () -> Void) {
        if leaving.isEmpty { body() } else { onHandOverEnd = body }
    }

    /// Removes the files of a shard that was handed over.
    private func removeFiles(of shard: Int) throws(BatchFailure) {
        guard removesFiles else { return }
        for name in layout.fileNames(shard) { try OutputFolder.remove(file: "\(configuration.folder)/\(name)") }
        absent.insert(shard)
    }

    /// Returns the row whose outcome a row has, if that is available when the shard of this row is written.
    private func original(of row: RowSource.Row, _ known: RowOutcome<Int64>?) -> Int? {
        var original = row.original
        if case .duplicate(let recorded)? = known { original = recorded }
        return original.flatMap { isAvailable($0, to: row.number) ? $0 : nil }
    }

    /// Returns whether the outcome of a row is available when the shard of a later one is written. Shards that leave
    /// the folder share nothing: a shard that had to stay for others would fill the disk.
    private func isAvailable(_ original: Int, to row: Int) -> Bool {
        let shard = layout.position(of: original).shard
        return removesFiles ? shard == layout.position(of: row).shard : !absent.contains(shard)
    }
}
