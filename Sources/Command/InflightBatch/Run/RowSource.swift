internal import Glibc
internal import InflightConcurrency
internal import InflightCore
internal import InflightSQLite

/// The rows of a run: read ahead (``InputFeed``), compared with those that the run has read before, without those of
/// other parts, each with its number, its key, its place, and the earlier row that has the same URL.
///
/// Rows may be appended to the last input only, and inputs may follow: the numbers of all rows that were read must not
/// change. The journal has a digest of each row. Confined to the run's queue.
final class RowSource {
    struct Row {
        /// The position among the rows of this part.
        var number: Int
        var input: InputRow
        /// Where the URL leads; without a place, why there is none.
        var place: Result<RowPlace, LoadError>
        /// The number of the first row with the same URL and the same digests, if that is not this one.
        var original: Int?
    }

    enum Item {
        case row(Row)
        /// A row that cannot be used, and its place for messages.
        case reject(InputReject, file: String)
        /// All inputs have ended.
        case ended(rejects: Int)
    }

    /// The number of rows of this part that were read.
    private(set) var rowCount = 0
    /// Whether all inputs have ended.
    private(set) var isAtEnd = false
    /// Whether there may be more rows than the last time. If not, all files are what they were.
    let mayHaveGrown: Bool

    private let configuration: BatchConfiguration
    private let sources: [InputSource]
    private let journal: Journal
    private let layout: ShardLayout
    /// The inputs that an earlier run has read.
    private let recorded: [JournalInput]
    private var urls: URLIndex?
    /// The keys so far, unless they are positions.
    private var keys: URLIndex?
    /// The contents of the rows that were kept.
    private var store: RowStore?
    private var feed: InputFeed?
    private var items: ArraySlice<InputFeed.Item> = []
    private var input = -1
    private var history = History()
    private var file: CurrentFile?
    /// The number of usable rows that were read, those of other parts included.
    private var candidateCount = 0
    private var rejectCount = 0

    /// Compares the number of the inputs with that which the journal has recorded. Their rows are compared as they are
    /// read.
    init(_ configuration: BatchConfiguration, _ journal: Journal, _ layout: ShardLayout) throws(BatchFailure) {
        self.configuration = configuration
        self.journal = journal
        self.layout = layout
        let sources = configuration.inputs
        self.sources = sources
        let recorded = try journal.inputs()
        self.recorded = recorded
        if recorded.count > sources.count {
            throw .changedInput(
                "Input \(sources.count + 1) of the run in \(journal.folder) was \(recorded[sources.count].name); now "
                    + "there is none. Use the same inputs in the same order, or another folder. New inputs may follow.")
        }
        let isSame = zip(recorded, sources).allSatisfy { input, source in
            input.rowCount != nil && !input.identity.isEmpty && input.identity == Self.identity(of: source)
        }
        mayHaveGrown = recorded.count != sources.count || !isSame
    }

    /// Creates the files for URLs, keys and contents in a folder. They are gone when the process ends.
    func createFiles(in folder: String) throws(BatchFailure) {
        store = RowStore(in: folder)
        urls = try URLIndex(in: folder)
        if configuration.keys != .position { keys = try URLIndex(in: folder) }
    }

    // MARK: Reading

    /// Begins to read, with `feed`. The indices exist.
    func start(_ feed: InputFeed) {
        self.feed = feed
        feed.start(
            sources, options: configuration.columns, keptCopy: InputCopy.temporaryPath(in: configuration.folder))
    }

    /// Ends the reading.
    func stop() {
        feed?.stop()
        feed = nil
    }

    /// The number of rows of this part, estimated from the bytes that were read; `nil` if it cannot be.
    var estimatedRowCount: Int? {
        feed?.estimatedRowCount.flatMap { Self.share(rowCount, of: candidateCount + rejectCount, among: $0) }
    }

    /// Returns the number of rows of a part among all, of which it has `count` of `read`; `nil` if it has none.
    static func share(_ count: Int, of read: Int, among rows: Int) -> Int? {
        guard count > 0 else { return nil }
        return max(count, Int((Double(rows) * (Double(count) / Double(read))).rounded()))
    }

    /// Returns the next row of this part, the next reject or the end, or `nil` if it is not read yet.
    ///
    /// - Parameter report: Called if an input has ended whose rows were all rejected.
    func next(_ report: (BatchEvent) -> Void) throws(BatchFailure) -> Item? {
        while true {
            if items.isEmpty { items = (feed?.take() ?? [])[...] }
            guard let item = items.popFirst() else { return nil }
            switch item {
            case .row(let row, let source, let digest, let place):
                try compare(digest, source, line: row.line, report)
                count(nil, source, line: row.line, report)
                if let row = try numbered(row, place) { return .row(row) }
            case .reject(var reject, let source, let digest):
                try compare(digest, source, line: reject.line, report)
                rejectCount += 1
                let line = reject.line
                let place = sources[source].place(ofLine: line)
                reject.line = place.line
                count(reject, source, line: line, report)
                return .reject(reject, file: place.name)
            case .ended:
                try endInput(report)
                if sources.contains(where: { $0.path == nil }) {
                    try InputCopy.keep(in: configuration.folder)
                }
                isAtEnd = true
                return .ended(rejects: rejectCount)
            case .failed(let failure): throw failure
            }
        }
    }

    /// Gives a row its key and its number. Returns `nil` for a row of another part.
    private func numbered(
        _ input: InputRow, _ place: Result<RowPlace, LoadError>
    ) throws(BatchFailure) -> Row? {
        defer { candidateCount += 1 }
        var row = Row(number: rowCount, input: input, place: place)
        row.input.key = try key(of: input)
        guard isOfThisPart(place) else { return nil }
        rowCount += 1
        if !input.url.isEmpty {
            row.original = try urls?.firstRow(input.fetchKey, orInsert: row.number)
        }
        return row
    }

    /// Returns the key of a row that does not come from its position. A row whose id or URL an earlier row has gets a
    /// key of its own, by its number among the rows of all parts.
    private func key(of row: InputRow) throws(BatchFailure) -> String? {
        guard let keys else { return nil }
        let id = configuration.keys == .id ? row.id : nil
        let key = SampleKey.key(id: id, url: row.url, options: configuration.keyOptions)
        let isRepeated = try keys.firstRow(key, orInsert: candidateCount) != nil
        return isRepeated ? SampleKey.repeated(key, row: candidateCount) : key
    }

    private func isOfThisPart(_ place: Result<RowPlace, LoadError>) -> Bool {
        guard let part = configuration.part, part.count > 1 else { return true }
        var number = UInt64(candidateCount)
        if configuration.division == .host, let host = try? place.get().host {
            var sum = XXH64(seed: 0)
            sum.add(Array(host.utf8))
            number = UInt64(bitPattern: Int64(truncatingIfNeeded: sum.value))
        }
        return number % UInt64(part.count) == UInt64(part.number % part.count)
    }

    // MARK: Contents

    /// Keeps the contents of the row that was read last, on disk, until those of its shard are taken.
    func keep(_ row: Row, shard: Int) throws(BatchFailure) { try store?.append(row.input, shard: shard) }

    /// Lets rows that follow be duplicates of this one, instead of the row that it is a duplicate of.
    func makeOriginal(_ row: Row) throws(BatchFailure) {
        _ = try urls?.firstRow(row.input.fetchKey, orInsert: row.number, replaces: true)
    }

    /// Returns the place of a row that was kept.
    func place(of row: Int) throws(BatchFailure) -> RowPlace {
        let position = layout.position(of: row)
        let input = try store?.row(position.index, shard: position.shard)
        guard let input, let place = try? RowPlace(input) else {
            throw .inconsistent("row \(row) is not stored")
        }
        return place
    }

    /// Removes the rows of a shard, and returns them. The caller may use them on another thread.
    func takeRows(of shard: Int) -> ShardRows? { store?.take(shard: shard) }

    /// Keeps rows again that ``takeRows(of:)`` has removed. The caller does not use them any more.
    func putBack(_ rows: ShardRows, of shard: Int) { store?.putBack(rows, shard: shard) }

    // MARK: Comparing

    /// The recorded digests of one input, taken in blocks, so that memory does not grow with the input.
    private struct History {
        /// The number of rows that were recorded.
        var recordedCount = 0
        /// The number of rows that were read.
        var rowCount = 0
        var block: [UInt32] = []
    }

    /// Compares a row with the recorded one, or records its digest if it is new.
    private func compare(
        _ digest: UInt32, _ source: Int, line: Int, _ report: (BatchEvent) -> Void
    ) throws(BatchFailure) {
        if source != input {
            if input >= 0 { try endInput(report) }
            try beginInput(source)
        }
        let row = history.rowCount
        history.rowCount += 1
        // A new row would change the numbers of all rows of the inputs that followed.
        let mayGrow = source >= recorded.count - 1 || recorded[source].rowCount == nil
        if row >= history.recordedCount, mayGrow {
            history.block = []
            return try journal.record(digest, ofInput: source)
        }
        if row < history.recordedCount {
            let (block, index) = row.quotientAndRemainder(dividingBy: DigestLog.blockLength)
            if index == 0 {
                history.block = try journal.digests(ofInput: source, block: block)
            }
            if index < history.block.count, history.block[index] == digest { return }
        }
        let place = sources[source].place(ofLine: line)
        let file = sources[source].parts.isEmpty ? name(source) : place.name
        throw .changedInput(
            "\(file): row \(row + 1) (line \(place.line)) differs from the one that the run in \(journal.folder) has "
                + "read. Rows may be appended to the last input only. Use the unchanged input, or another folder.")
    }

    private func beginInput(_ source: Int) throws(BatchFailure) {
        input = source
        history = History(recordedCount: try journal.recordedCount(ofInput: source))
        guard source >= recorded.count else { return }
        try journal.record(JournalInput(name: sources[source].name), number: source)
    }

    private func endInput(_ report: (BatchEvent) -> Void) throws(BatchFailure) {
        if history.rowCount < history.recordedCount {
            throw .changedInput(
                "\(name(input)) has \(history.rowCount) rows; the run in \(journal.folder) has read "
                    + "\(history.recordedCount). Use the unchanged input, or another folder.")
        }
        let ended = JournalInput(
            name: sources[input].name, identity: Self.identity(of: sources[input]), rowCount: history.rowCount)
        try journal.record(ended, number: input)
        endFile(report)
    }

    // MARK: Files without rows that can be used

    /// The file whose rows are being read: an input, or a part of one.
    private struct CurrentFile {
        var name: String
        var lines: ClosedRange<Int>
        /// The number of rows that were read.
        var rowCount = 0
        /// The first row, if it was rejected, until a row can be used.
        var firstReject: InputReject?
    }

    /// Counts a row that can be used, or a reject.
    private func count(_ reject: InputReject?, _ source: Int, line: Int, _ report: (BatchEvent) -> Void) {
        if let file, !file.lines.contains(line) { endFile(report) }
        if file == nil {
            let (name, lines) = sources[source].file(ofLine: line)
            // Rows after those of all parts are of no file.
            if !sources[source].parts.isEmpty, lines.upperBound == .max { return }
            file = CurrentFile(name: name, lines: lines)
        }
        if reject == nil || file?.rowCount == 0 { file?.firstReject = reject }
        file?.rowCount += 1
    }

    private func endFile(_ report: (BatchEvent) -> Void) {
        guard let file = file.take(), let first = file.firstReject else { return }
        report(
            .allRejected(
                file: file.name, rows: file.rowCount, line: first.line, reason: first.reason.description))
    }

    /// The name of an input for messages. The rows decide whether it is the recorded one, which may have been renamed.
    private func name(_ source: Int) -> String {
        let (old, new) = (source < recorded.count ? recorded[source].name : nil, sources[source].name)
        return old.map { $0 == new ? new : "\(new) (then \($0))" } ?? new
    }

    /// Size, time of change and number of a file; empty for standard input.
    private static func identity(of source: InputSource) -> String {
        var found = stat()
        guard let path = source.path, unsafe stat(path, &found) == 0 else { return "" }
        return "\(found.st_size)-\(found.st_mtim.tv_sec).\(found.st_mtim.tv_nsec)-\(found.st_ino)"
    }
}
