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

    /// Compares the names of the inputs with those that the journal has recorded.
    init(_ sources: [InputSource], _ journal: Journal) throws(BatchFailure) {
        self.sources = sources
        folder = journal.folder
        let recorded = try BatchFailure.recording { () throws(JournalError) in try journal.inputs() }
        self.recorded = recorded
        for (index, input) in recorded.enumerated() where index >= sources.count || sources[index].name != input.name {
            let now = index < sources.count ? "\(sources[index].name) is" : "there is none"
            throw .changedInput(
                "Input \(index + 1) of the run in \(folder) was \(input.name); now \(now). Use the same inputs in the "
                    + "same order, or another folder. New inputs may follow.")
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

    /// Compares a row, and records its digest if it is new.
    mutating func didRead(
        line: Int, _ source: Int, _ digest: UInt32, _ journal: Journal
    ) throws(BatchFailure) {
        if source != current { try begin(source, journal) }
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
            throw .changedInput(
                "\(sources[source].name): row \(row + 1) (line \(line)) differs from the one that the run in "
                    + "\(folder) has read. Rows may be appended to the last input only. Use the unchanged input, or "
                    + "another folder.")
        }
    }

    /// The last input has ended.
    mutating func didEnd(_ journal: Journal) throws(BatchFailure) { try end(journal) }

    private mutating func begin(_ source: Int, _ journal: Journal) throws(BatchFailure) {
        if current >= 0 { try end(journal) }
        current = source
        let mayGrow = source >= recorded.count - 1 || recorded[source].rowCount == nil
        try BatchFailure.recording { () throws(JournalError) in
            history = InputHistory(recordedCount: try journal.recordedCount(ofInput: source), mayGrow: mayGrow)
            guard source >= recorded.count else { return }
            try journal.record(JournalInput(name: sources[source].name), number: source)
        }
    }

    private func end(_ journal: Journal) throws(BatchFailure) {
        if case .shrunk(let count) = history.inputDidEnd() {
            throw .changedInput(
                "\(sources[current].name) has \(count) rows; the run in \(folder) has read \(history.recordedCount). "
                    + "Use the unchanged input, or another folder.")
        }
        let input = JournalInput(
            name: sources[current].name, identity: Self.identity(of: sources[current]), rowCount: history.rowCount)
        try BatchFailure.recording { () throws(JournalError) in try journal.record(input, number: current) }
    }

    /// Size, time of change and number of a file; empty for standard input.
    private static func identity(of source: InputSource) -> String {
        var found = stat()
        guard let path = source.path, unsafe stat(path, &found) == 0 else { return "" }
        return "\(found.st_size)-\(found.st_mtim.tv_sec).\(found.st_mtim.tv_nsec)-\(found.st_ino)"
    }
}
