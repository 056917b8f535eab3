internal import Glibc

/// The rows that a run has read, compared with those that it has read before.
struct BatchInputs {
    /// The number of rows of this run's part that were read.
    var rowCount = 0
    /// The number of usable rows that were read, those of other parts included.
    var candidateCount = 0
    /// The number of rejected rows.
    var rejectCount = 0
    /// Whether there may be more rows than the last time. If not, all files are what they were.
    let mayHaveGrown: Bool

    private let folder: String
    private let sources: [InputSource]
    private let recorded: [JournalInput]
    private var current = -1
    private var history = InputHistory(recordedCount: 0)
    private var items: ArraySlice<InputFeed.Item> = []
    /// The first reject of the current input, until a row of it can be used.
    private var firstReject: InputReject?

    /// Compares the number of the inputs with that which the journal has recorded. Their rows are compared as they are
    /// read.
    init(_ sources: [InputSource], _ journal: Journal) throws(BatchFailure) {
        self.sources = sources
        folder = journal.folder
        let recorded = try BatchFailure.recording { () throws(JournalError) in try journal.inputs() }
        self.recorded = recorded
        if recorded.count > sources.count {
            throw .changedInput(
                "Input \(sources.count + 1) of the run in \(folder) was \(recorded[sources.count].name); now there is "
                    + "none. Use the same inputs in the same order, or another folder. New inputs may follow.")
        }
        let isSame = zip(recorded, sources).allSatisfy { input, source in
            input.rowCount != nil && !input.identity.isEmpty && input.identity == Self.identity(of: source)
        }
        mayHaveGrown = recorded.count != sources.count || !isSame
    }

    /// Returns the number of usable rows of this part among rows of the inputs, estimated by their share of those that
    /// were read; `nil` if there was none yet.
    func rowsOfPart(among rows: Int) -> Int? {
        guard rowCount > 0 else { return nil }
        let share = Double(rowCount) / Double(candidateCount + rejectCount)
        return max(rowCount, Int((Double(rows) * share).rounded()))
    }

    /// Returns the next item, or `nil` if it is not read yet.
    mutating func next(_ feed: InputFeed) -> InputFeed.Item? {
        if items.isEmpty { items = feed.take()[...] }
        return items.popFirst()
    }

    /// Compares a row, and records its digest if it is new. Returns the event that an earlier input ends with.
    mutating func didRead(
        _ result: RowReader.Result, _ source: Int, _ digest: UInt32, _ journal: Journal
    ) throws(BatchFailure) -> BatchEvent? {
        let event = source == current ? nil : try begin(source, journal)
        let line: Int
        switch result {
        case .row(let row):
            line = row.line
            firstReject = nil
        case .reject(let reject):
            line = reject.line
            rejectCount += 1
            if history.rowCount == 0 { firstReject = reject }
        }
        let answer = try BatchFailure.recording { () throws(JournalError) in
            try history.rowDidRead(digest) { (block) throws(JournalError) in
                try journal.digests(ofInput: source, block: block)
            }
        }
        switch answer {
        case .same: break
        case .new:
            try BatchFailure.recording { () throws(JournalError) in try journal.record(digest, ofInput: source) }
        case .changed(let row):
            let place = sources[source].place(ofLine: line)
            let file = sources[source].parts.isEmpty ? name(source) : place.name
            throw .changedInput(
                "\(file): row \(row + 1) (line \(place.line)) differs from the one that the run in \(folder) has "
                    + "read. Rows may be appended to the last input only. Use the unchanged input, or another folder.")
        }
        return event
    }

    /// The last input has ended. Returns the event that it ends with.
    mutating func didEnd(_ journal: Journal) throws(BatchFailure) -> BatchEvent? { try end(journal) }

    private mutating func begin(_ source: Int, _ journal: Journal) throws(BatchFailure) -> BatchEvent? {
        let event = current >= 0 ? try end(journal) : nil
        current = source
        let mayGrow = source >= recorded.count - 1 || recorded[source].rowCount == nil
        try BatchFailure.recording { () throws(JournalError) in
            history = InputHistory(recordedCount: try journal.recordedCount(ofInput: source), mayGrow: mayGrow)
            guard source >= recorded.count else { return }
            try journal.record(JournalInput(name: sources[source].name), number: source)
        }
        return event
    }

    private mutating func end(_ journal: Journal) throws(BatchFailure) -> BatchEvent? {
        if case .shrunk(let count) = history.inputDidEnd() {
            throw .changedInput(
                "\(name(current)) has \(count) rows; the run in \(folder) has read \(history.recordedCount). "
                    + "Use the unchanged input, or another folder.")
        }
        let input = JournalInput(
            name: sources[current].name, identity: Self.identity(of: sources[current]), rowCount: history.rowCount)
        try BatchFailure.recording { () throws(JournalError) in try journal.record(input, number: current) }
        return firstReject.take().map {
            .allRejected(
                file: input.name, rows: history.rowCount, line: $0.line, reason: $0.reason.description)
        }
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
