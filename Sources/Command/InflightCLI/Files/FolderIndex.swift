import Glibc

/// The hidden index of an output folder: a text file with one ``IndexRecord`` per line, in the order in which the files
/// were written. Of two records, the later one counts.
///
/// Runs only append to it, each record in one write, and before the file that it describes gets its name. So a killed
/// run leaves at most a record that no file matches. Several runs may use a folder at once: each reads what the others
/// have appended, and a lock (`flock`) covers the pair of a record and its file.
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
    private var file: Int32 = -1
    private var isWritable = false
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

    deinit { if file >= 0 { close(file) } }

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
        guard file >= 0, isWritable else { return }
        var bytes: [UInt8] = []
        if end == 0 {
            bytes = Self.header
            // Removes an incomplete header, if any.
            _ = ftruncate(file, 0)
        } else if endsInLine {
            bytes = [UInt8(ascii: "\n")]
            splitter = LineSplitter(limit: IndexRecord.longestLine)
        }
        for record in records { bytes += record.line + [UInt8(ascii: "\n")] }
        guard end + Int64(bytes.count) <= Self.maximumBytes else {
            return stopRecording("It would exceed \(Quantity.grouped(Int(Self.maximumBytes))) bytes")
        }
        do throws(StandardStream.WriteError) {
            try StandardStream(descriptor: file).write(bytes)
        } catch {
            return stopRecording(error.system.text)
        }
        end += Int64(bytes.count)
        endsInLine = false
    }

    /// Reads what other runs have appended since, also if one has created the index since.
    func refresh() {
        if file < 0 { return open(creates: false) }
        var status = stat()
        if unsafe fstat(file, &status) == 0 { refresh(status) }
    }

    // MARK: Locking

    /// Waits until no other run appends to the index, and reads what others have appended. Creates the index if it does
    /// not exist.
    func lock() {
        for _ in 0..<16 {
            if file < 0 { open(creates: true) }
            guard file >= 0, isWritable else { return }
            while flock(file, LOCK_EX) != 0, errno == EINTR {}
            var status = stat()
            guard unsafe fstat(file, &status) == 0 else { return }
            if status.st_nlink > 0 { return refresh(status) }
            // Another run has rewritten the index, or the user has removed it.
            forget()
        }
    }

    func unlock() { if file >= 0, isWritable { flock(file, LOCK_UN) } }

    // MARK: Reading

    private func open(creates: Bool) {
        guard !isRefused else { return }
        let flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        isWritable = true
        file = unsafe openat(
            directory, Self.fileName, O_RDWR | O_APPEND | flags | (creates ? O_CREAT : 0), 0o666)
        if file < 0 {
            let error = SystemError.last
            if error.code == ENOENT { return }
            guard [EACCES, EPERM, EROFS].contains(error.code) else { return refuse(error.text) }
            file = unsafe openat(directory, Self.fileName, O_RDONLY | flags)
            guard file >= 0 else { return refuse(error.text) }
            stopRecording(error.text)
        }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { return refuse(SystemError.last.text) }
        guard status.st_mode & S_IFMT == S_IFREG else { return refuse("It is not a regular file") }
        refresh(status)
    }

    /// Reads what was appended.
    private func refresh(_ status: stat) {
        if status.st_size < end { forgetRecords() }
        guard status.st_size > end else { return }
        guard status.st_size <= Self.maximumBytes else {
            return refuse("It exceeds \(Quantity.grouped(Int(Self.maximumBytes))) bytes")
        }
        if end == 0 {
            let beginning = read(Self.header.count, at: 0)
            guard Self.header.starts(with: beginning) else { return refuse("It has another format") }
            // An incomplete header is replaced with the first record.
            guard beginning.count == Self.header.count else { return }
        }
        while true {
            let chunk = read(1 << 16, at: end)
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
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, count in
            count = unsafe max(0, pread(file, buffer.baseAddress, buffer.count, Int(position)))
        }
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
        guard file >= 0, isWritable, let folder = try? DraftFolder(in: directory) else { return }
        let draft = "index"
        defer {
            _ = unsafe unlinkat(folder.descriptor, draft, 0)
            folder.remove()
        }
        let copy = unsafe openat(
            folder.descriptor, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
        guard copy >= 0 else { return }
        defer { close(copy) }
        let stream = StandardStream(descriptor: copy)
        guard (try? stream.write(Self.header)) != nil else { return }
        var lines = LineSplitter(limit: IndexRecord.longestLine)
        var position: Int64 = 0
        while position < end {
            let chunk = read(1 << 16, at: position)
            guard !chunk.isEmpty else { return }
            position += Int64(chunk.count)
            unsafe chunk.withUnsafeBytes { unsafe lines.append($0) }
            var kept: [UInt8] = []
            while let line = lines.next(isAtEnd: false) {
                if case .text(let text) = line, isCurrent(text) { kept += text + [UInt8(ascii: "\n")] }
            }
            guard (try? stream.write(kept)) != nil else { return }
        }
        guard fsync(copy) == 0,
            unsafe renameat(folder.descriptor, draft, directory, Self.fileName) == 0
        else { return }
        let damaged = damagedLines
        forget()
        open(creates: false)
        damagedLines = damaged
    }

    private func isCurrent(_ line: [UInt8]) -> Bool {
        guard let record = IndexRecord(line: line) else { return false }
        var status = stat()
        let isThere = unsafe fstatat(directory, record.name, &status, AT_SYMLINK_NOFOLLOW) == 0
        return isThere && claims(on: record.name).contains(record)
    }

    // MARK: Failures

    private func forget() {
        if file >= 0 { close(file) }
        file = -1
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
