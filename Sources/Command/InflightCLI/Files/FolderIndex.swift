import Glibc

/// The hidden index of an output folder: a text file with one ``IndexRecord`` per line, in the order in which the files
/// were written. Of two records, the later one counts.
///
/// Runs only append to it, whole records in one write, before the files that they describe get their names. So a killed
/// run leaves at most records that no file matches. Several runs may use a folder at once: each reads what the others
/// have appended, and a lock (`flock`) covers records and their files.
///
/// A folder works without it. What is damaged, too large, of another format, or a link is left alone and reported once
/// (``takeProblems()``): then nothing is known of the folder's files, and nothing is recorded.
///
/// Confined to the run's queue.
final class FolderIndex {
    static let fileName = ".inflight.index"
    private static let header = Array("# inflight index 1\n".utf8)
    /// About 1.5 million records.
    private static let maximumBytes: Int64 = 256 << 20
    /// The maximum number of files of one URL that are remembered, such as those of several formats.
    private static let mostNames = 8
    /// The number of lines below which the index is never rewritten without obsolete ones.
    private static let fewLines = 4096

    private let directory: Int32
    /// The path, as shown in messages.
    private let shownPath: String
    private var file: FileDescriptor?
    private var isWritable = false
    private var isLocked = false
    /// Whether the file cannot be used at all.
    private var isRefused = false
    /// The position up to which the file was read or written.
    private var end: Int64 = 0
    /// Whether the last line lacks its line break, because the run that wrote it was killed or found the disk full.
    private var endsInLine = false
    private var splitter = LineSplitter(limit: IndexRecord.longestLine)
    /// For each percent-encoded name, its last line and, if that replaced a file of the same URL, the one before.
    private var claims = SpillingMap()
    /// For each key, the percent-encoded names of its files, the last one first.
    private var names = SpillingMap()
    private var lineCount = 0
    private var nameCount = 0
    private var damagedLines = 0
    private var problems: [String] = []

    /// Opens and reads the index, if there is one.
    ///
    /// - Parameter directory: The descriptor of the folder. It must stay open for the lifetime of this object.
    init(in directory: Int32, shownPath: String) {
        self.directory = directory
        self.shownPath = shownPath
        open(creates: false)
        if damagedLines > 0 || (lineCount > Self.fewLines && lineCount > 3 * nameCount) { rewrite() }
        guard damagedLines > 0 else { return }
        problems.append(
            "The index \(shownPath) has \(Quantity.count(damagedLines, "damaged line")), which \(damagedLines == 1 ? "is" : "are")"
                + " ignored. Their files are kept, and their URLs count as new.")
    }

    deinit { try? file?.close() }

    /// Returns what went wrong since the last call, for the user.
    func takeProblems() -> [String] {
        defer { problems = [] }
        return problems
    }

    // MARK: Records

    /// Returns the records of the URL that has last written a file of this name: the last one, then the one before it,
    /// which still describes the file if a run was killed before it replaced the file.
    func claims(on name: String) -> [IndexRecord] {
        let key = String(decoding: IndexRecord.escaped(name.utf8), as: UTF8.self)
        return claims[key]?.split(separator: UInt8(ascii: "\n")).compactMap { IndexRecord(line: Array($0)) } ?? []
    }

    /// Returns the names of a URL's files, the last one first.
    func names(of key: String) -> [String] {
        names[key]?.split(separator: UInt8(ascii: "\n")).compactMap { IndexRecord.unescaped($0) } ?? []
    }

    /// Appends records. A failure is reported once; then nothing more is recorded.
    ///
    /// Call it while the index is locked.
    func append(_ records: [IndexRecord]) {
        guard let file, isWritable else { return }
        var bytes: [UInt8] = []
        if end == 0 {
            bytes = Self.header
            // Removes an incomplete header, if any.
            _ = ftruncate(file.number, 0)
        } else if endsInLine {
            bytes = [UInt8(ascii: "\n")]
            splitter = LineSplitter(limit: IndexRecord.longestLine)
        }
        for record in records { bytes += record.line + [UInt8(ascii: "\n")] }
        guard end + Int64(bytes.count) <= Self.maximumBytes else {
            return stopRecording("It would exceed \(Quantity.grouped(Int(Self.maximumBytes))) bytes")
        }
        do {
            try file.write(bytes)
        } catch {
            return stopRecording(error.text)
        }
        end += Int64(bytes.count)
        endsInLine = false
    }

    /// Reads what other runs have appended since, also if one has created the index since.
    func refresh() {
        if isLocked { return }
        guard let file else { return open(creates: false) }
        if let status = try? file.status() { refresh(status) }
    }

    // MARK: Locking

    /// Waits until no other run appends to the index, and reads what others have appended. Creates the index if it does
    /// not exist.
    func lock() {
        for _ in 0..<16 {
            if file == nil { open(creates: true) }
            guard let file, isWritable else { return }
            while flock(file.number, LOCK_EX) != 0, errno == EINTR {}
            guard let status = try? file.status() else { return }
            if status.linkCount > 0 {
                isLocked = true
                return refresh(status)
            }
            // Another run has rewritten the index, or the user has removed it.
            forget()
        }
    }

    func unlock() {
        isLocked = false
        if let file, isWritable { flock(file.number, LOCK_UN) }
    }

    // MARK: Reading

    private func open(creates: Bool) {
        guard !isRefused else { return }
        let flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        isWritable = true
        do {
            file = try FileDescriptor.open(
                Self.fileName, in: directory, O_RDWR | O_APPEND | flags | (creates ? O_CREAT : 0))
        } catch {
            if error == .isMissing { return }
            guard [EACCES, EPERM, EROFS].contains(error.code) else { return refuse(error.text) }
            file = try? FileDescriptor.open(Self.fileName, in: directory, O_RDONLY | flags)
            if file == nil { return refuse(error.text) }
            stopRecording(error.text)
        }
        guard let status = try? file?.status() else { return refuse(SystemError.last.text) }
        guard status.isFile else { return refuse("It is not a regular file") }
        refresh(status)
    }

    /// Reads what was appended.
    private func refresh(_ status: FileStatus) {
        if status.size < end { forgetRecords() }
        guard status.size > end else { return }
        guard status.size <= Self.maximumBytes else {
            return refuse("It exceeds \(Quantity.grouped(Int(Self.maximumBytes))) bytes")
        }
        if end == 0 {
            let beginning = read(Self.header.count, at: 0)
            guard Self.header.starts(with: beginning) else { return refuse("It has another format") }
            // An incomplete header is replaced with the first record.
            guard beginning.count == Self.header.count else { return }
        }
        while end < status.size {
            let chunk = read(Int(min(1 << 16, status.size - end)), at: end)
            guard let last = chunk.last else { break }
            end += Int64(chunk.count)
            endsInLine = last != UInt8(ascii: "\n")
            unsafe chunk.withUnsafeBytes { unsafe splitter.append($0) }
            while let line = splitter.next(isAtEnd: false) {
                if case .text(let text) = line { note(text) } else { damagedLines += 1 }
            }
        }
    }

    private func read(_ count: Int, at position: Int64) -> [UInt8] {
        (try? file?.read(at: position, limit: count)) ?? []
    }

    private func note(_ line: [UInt8]) {
        guard let record = IndexRecord(line: line) else {
            damagedLines += 1
            return
        }
        lineCount += 1
        let name = record.escapedName
        let nameKey = String(decoding: name, as: UTF8.self)
        var claim = line
        if let last = claims[nameKey]?.split(separator: UInt8(ascii: "\n")).first {
            if !last.elementsEqual(line), IndexRecord(line: Array(last))?.key == record.key {
                claim += [UInt8(ascii: "\n")] + last
            }
        } else {
            nameCount += 1
        }
        claims[nameKey] = claim
        let others = names[record.key]?.split(separator: UInt8(ascii: "\n")).filter { !$0.elementsEqual(name) } ?? []
        names[record.key] = Array(
            ([name[...]] + others.prefix(Self.mostNames - 1)).joined(separator: [UInt8(ascii: "\n")]))
    }

    // MARK: Obsolete lines

    /// Rewrites the index without damaged lines, and without those that later ones have replaced, or whose files are
    /// gone. If that fails, it stays as it is.
    private func rewrite() {
        lock()
        defer { unlock() }
        guard file != nil, isWritable, let folder = try? DraftFolder(in: directory) else { return }
        let draft = "index"
        defer {
            folder.discard(draft)
            folder.remove()
        }
        guard let copy = try? folder.create(draft, permissions: 0o666) else { return }
        defer { try? copy.close() }
        guard (try? copy.write(Self.header)) != nil else { return }
        var lines = LineSplitter(limit: IndexRecord.longestLine)
        var position: Int64 = 0
        while position < end {
            let chunk = read(Int(min(1 << 16, end - position)), at: position)
            guard !chunk.isEmpty else { return }
            position += Int64(chunk.count)
            unsafe chunk.withUnsafeBytes { unsafe lines.append($0) }
            var kept: [UInt8] = []
            while let line = lines.next(isAtEnd: false) {
                if case .text(let text) = line, isCurrent(text) { kept += text + [UInt8(ascii: "\n")] }
            }
            guard (try? copy.write(kept)) != nil else { return }
        }
        guard (try? copy.synchronize()) != nil,
            (try? folder.publish(draft, as: Self.fileName, in: directory)) != nil
        else { return }
        let damaged = damagedLines
        forget()
        open(creates: false)
        damagedLines = damaged
    }

    private func isCurrent(_ line: [UInt8]) -> Bool {
        guard let record = IndexRecord(line: line) else { return false }
        let isThere = (try? FileStatus(of: record.name, in: directory)) != nil
        return isThere && claims(on: record.name).contains(record)
    }

    // MARK: Failures

    private func forget() {
        try? file?.close()
        file = nil
        forgetRecords()
    }

    private func forgetRecords() {
        (end, endsInLine, lineCount, nameCount, damagedLines) = (0, false, 0, 0, 0)
        (claims, names, splitter) = (SpillingMap(), SpillingMap(), LineSplitter(limit: IndexRecord.longestLine))
    }

    private func refuse(_ reason: String) {
        forget()
        isRefused = true
        problems.append(
            "Cannot use the index \(shownPath): \(reason). Existing files are kept, and this run's files are not "
                + "recorded. Remove the index to begin a new one.")
    }

    private func stopRecording(_ reason: String) {
        isWritable = false
        problems.append(
            "Cannot write the index \(shownPath): \(reason). Files stored from now on are not recorded: later runs "
                + "keep them, and store others beside them.")
    }
}
