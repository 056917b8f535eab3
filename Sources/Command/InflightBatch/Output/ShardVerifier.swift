internal import Glibc
package import InflightCore

/// Checks the output of a run: every finished shard of the journal, and that there are no other files.
///
/// The sidecar, the headers of the archive and the texts of samples are compared with what the run would write. Of the
/// images, the structure and the size in pixels are checked, not the pixels. The run may continue meanwhile.
package struct ShardVerifier {
    /// The largest image to read, in bytes.
    private static let imageLimit: Int64 = 1 << 30
    /// The largest file of statistics to read, in bytes.
    private static let statsLimit: Int64 = 1 << 20
    /// The names of files beside the shards.
    private static let otherNames =
        ["", "-wal", "-shm"].map { JournalFolder.journalName + $0 } + [
            JournalFolder.lockName, "rejects.jsonl", "command.json", InputCopy.name,
        ]

    private let configuration: ShardWriter.Configuration
    /// The format of all images; `nil` if bodies are stored unchanged.
    private let format: ImageFormat?
    private let codecs: CodecRegistry
    private let journal: Journal
    private var schema: SidecarSchema?
    /// The first 64 bits of the digests of all images, if these have their names by digest.
    private var digests: Set<UInt64> = []
    private var report = VerifyReport()

    /// Checks the output in a folder.
    ///
    /// - Parameters:
    ///   - folder: The folder of the output.
    ///   - codecs: The codecs for the format of the run.
    ///   - isCancelled: Called before each row. If it returns true, the report covers the shards before.
    ///   - progress: Called after each shard with the number of checked shards and of all.
    /// - Throws: ``BatchFailure`` if the journal cannot be read. All other problems are in the report.
    package static func verify(
        folder: String, codecs: CodecRegistry, isCancelled: () -> Bool = { false },
        progress: (Int, Int) -> Void = { _, _ in }
    ) throws(BatchFailure) -> VerifyReport {
        var verifier = try ShardVerifier(folder, codecs)
        try verifier.check(isCancelled, progress)
        return verifier.report
    }

    private init(_ folder: String, _ codecs: CodecRegistry) throws(BatchFailure) {
        journal = try Journal(reading: folder)
        self.codecs = codecs
        let options = journal.options
        let forms: [String: ShardWriter.Form] = ["webdataset": .webdataset, "files": .files, "hashed": .hashedFiles]
        guard let form = options["layout"].flatMap({ forms[$0] }), let imageExtension = Self.imageExtension(options),
            let layout = ShardLayout(of: journal)
        else { throw .journal(.damaged(folder, reason: "its options are not those of a run")) }
        format = options["raw"] == nil ? options["format"].flatMap(ImageFormat.init(fileExtension:)) : nil
        configuration = ShardWriter.Configuration(
            folder: folder, layout: layout, form: form, schema: SidecarSchema(), imageExtension: imageExtension,
            hasCaptions: options["captions"] == "yes")
    }

    private static func imageExtension(_ options: [String: String]) -> ImageExtension? {
        if options["raw"] == "yes" { return .byContent }
        return options["format"].flatMap(ImageFormat.init(fileExtension:)).map { .fixed($0.fileExtension) }
    }

    private mutating func check(_ isCancelled: () -> Bool, _ progress: (Int, Int) -> Void) throws(BatchFailure) {
        let finished = journal.finishedShards
        report.finishedShards = finished.count
        let absent = try journal.absentShards()
        report.absentShards = absent.count
        for shard in finished.ranges.joined() where !absent.contains(shard) {
            guard let record = try journal.finishedShard(shard) else { continue }
            do throws(BatchFailure) {
                try check(shard, record, isCancelled)
            } catch {
                guard case .output(let output) = error else { throw error }
                if output.number == ECANCELED { return }
                add(output)
            }
            report.checkedShards += 1
            progress(report.checkedShards, report.finishedShards)
        }
        let (inputs, summary) = (try journal.inputs(), try journal.summary())
        let hasEnded = inputs.allSatisfy { $0.rowCount != nil } && summary.openRows == 0
        do throws(BatchFailure) {
            try checkNames(hasEnded: hasEnded)
        } catch {
            guard case .output(let output) = error else { throw error }
            add(output)
        }
    }

    private mutating func add(_ error: OutputError) {
        let prefix = configuration.folder + "/"
        let name = error.path.hasPrefix(prefix) ? String(error.path.dropFirst(prefix.count)) : error.path
        report.add(name, error.reason)
    }

    // MARK: One shard

    private mutating func check(
        _ shard: Int, _ record: FinishedShard, _ isCancelled: () -> Bool
    ) throws(BatchFailure) {
        let (name, sidecar) = (configuration.layout.shardName(shard), configuration.layout.sidecarName(shard))
        let reader = try ShardReader(shard, configuration)
        let archive = try reader.members()
        var stats = ShardStats()
        var keys: Set<String> = []
        var members: [String] = []
        var rowCount = 0
        try reader.rows { index, row throws(BatchFailure) in
            if isCancelled() { throw .output(.read, sidecar, ECANCELED) }
            rowCount += 1
            if !keys.insert(row.key).inserted { report.add(sidecar, "Two rows have the key \(row.key).") }
            guard index < record.classes.count else { return }
            if case .failure(let name) = record.classes[index] {
                stats.addFailure(class: name, isResize: row.status == .failedToResize)
                if row.status != .success {
                    if reader.schema?.hasErrorClass == true, row.errorClass != name {
                        let found = row.errorClass ?? "null"
                        report.add(sidecar, "The row \(row.key) has the class \(found). In the journal, it is \(name).")
                    }
                    return
                }
                report.add(sidecar, "The row \(row.key) has an image. In the journal, it failed (\(name)).")
            } else if row.status != .success {
                report.add(sidecar, "The row \(row.key) failed. In the journal, it has an image.")
                return
            }
            do throws(BatchFailure) {
                if configuration.form != .hashedFiles {
                    let names =
                        [try reader.imageExtension(of: row), "json"] + (configuration.hasCaptions ? ["txt"] : [])
                    members += names.map { "\(row.key).\($0)" }
                }
                stats.addSuccess(bytes: try checkSample(row, reader))
            } catch {
                guard case .output(let output) = error else { throw error }
                add(output)
            }
        }
        if rowCount != record.rows.count {
            report.add(sidecar, "It has \(rowCount) rows. In the journal, the shard has \(record.rows.count).")
        }
        if schema == nil { schema = reader.schema }
        if reader.schema != schema { report.add(sidecar, "Its columns differ from those of the first shard.") }
        if let archive, let (found, expected) = difference(archive.members.map(\.name), members) {
            report.add(
                configuration.layout.archiveName(shard),
                "It has \(found ?? "no member") in the place of \(expected ?? "its end").")
        }
        if configuration.form == .files { try checkNames(in: name, expected: Set(members)) }
        try checkStats(configuration.layout.statsName(shard), stats)
        report.rows += rowCount
        report.images += stats.successes
        report.imageBytes += stats.byteCount
    }

    private func difference(_ found: [String], _ expected: [String]) -> (found: String?, expected: String?)? {
        let index = zip(found, expected).enumerated().first { $1.0 != $1.1 }?.offset ?? min(found.count, expected.count)
        guard index < max(found.count, expected.count) else { return nil }
        return (index < found.count ? found[index] : nil, index < expected.count ? expected[index] : nil)
    }

    /// Checks the members of a sample. Returns the size of the image.
    private mutating func checkSample(_ row: SidecarRow, _ reader: ShardReader) throws(BatchFailure) -> Int64 {
        if configuration.form == .hashedFiles, let digest = row.image.sha256 { digests.insert(Self.short(digest)) }
        let found = try reader.image(row)
        func damage(_ text: String) -> BatchFailure {
            .output(damaged: found.file.path, "\(text) (row \(row.key)).")
        }
        guard found.size <= Self.imageLimit else { throw damage("The image is larger than 1 GiB") }
        let image = Bytes(try found.bytes())
        let info: ImageInfo
        do throws(LoadError) { info = try codecs.validate(image) } catch { throw damage("\(error.message)") }
        if let format, info.format != format { throw damage("The image is \(info.format), not \(format)") }
        if format == nil, case let name = try reader.imageExtension(of: row), name != info.format.fileExtension {
            throw damage("The image is \(info.format), and its extension is \(name)")
        }
        guard info.width == row.image.width, info.height == row.image.height else {
            throw damage("The image has \(info.width) × \(info.height) pixels, not as in the sidecar")
        }
        if configuration.form == .hashedFiles { return found.size }
        let json = row.json(reader.schema ?? SidecarSchema())
        let member = try reader.member(row, "json")
        guard member.size == json.count, try member.bytes() == json else {
            throw .output(damaged: member.file.path, "\(row.key).json differs from the sidecar.")
        }
        _ = try reader.caption(row)
        return found.size
    }

    private func checkStats(_ name: String, _ stats: ShardStats) throws(BatchFailure) {
        let file = try StoredFile("\(configuration.folder)/\(name)")
        guard file.size <= Self.statsLimit else { throw .output(damaged: file.path, "It is larger than 1 MiB.") }
        let bytes = try file.read(Int(file.size), at: 0)
        let members = (try? JSONScanner.members(bytes[...])) ?? nil
        // The times are not known. Those of version 0.1.0 have a duration only.
        var stats = stats
        var timeless: [UInt8] = []
        var position = bytes.startIndex
        for member in members ?? [] where ShardStats.times.contains(member.name) {
            timeless += bytes[position..<member.value.startIndex] + Array("0.000000".utf8)
            position = member.value.endIndex
            if member.name == "start_time" { (stats.startTime, stats.endTime) = (.zero, .zero) }
        }
        guard timeless + bytes[position...] == stats.json else {
            throw .output(damaged: file.path, "It differs from the rows of the shard.")
        }
    }

    // MARK: Names

    private static func short(_ digest: ContentDigest) -> UInt64 {
        digest.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Checks that nothing is left that no shard names. A run that has not ended may have files of open shards.
    private mutating func checkNames(hasEnded: Bool) throws(BatchFailure) {
        let names = Set(try OutputFolder.names(in: configuration.folder))
        report.isComplete = hasEnded && !names.contains(StagingFolder.name)
        guard report.isComplete, report.checkedShards + report.absentShards == report.finishedShards
        else { return }
        let layout = configuration.layout
        if journal.finishedShards.firstMissing < journal.finishedShards.end {
            let name = layout.shardName(journal.finishedShards.firstMissing)
            report.add(name, "The journal does not have this shard.")
        }
        var unknown = names.subtracting(Self.otherNames)
        for shard in journal.finishedShards.ranges.joined() {
            unknown.remove(layout.sidecarName(shard))
            unknown.remove(layout.statsName(shard))
            switch configuration.form {
            case .webdataset: unknown.remove(layout.archiveName(shard))
            case .files: unknown.remove(layout.shardName(shard))
            case .hashedFiles: break
            }
        }
        for name in unknown.sorted() {
            if configuration.form == .hashedFiles, name.count == 2 {
                try checkHashed(name)
            } else {
                report.add(name, "No row of the run names it.")
            }
        }
    }

    /// Checks the names in a folder of images by digest.
    private mutating func checkHashed(_ folder: String) throws(BatchFailure) {
        for middle in try OutputFolder.names(in: "\(configuration.folder)/\(folder)").sorted() {
            for name in try OutputFolder.names(in: "\(configuration.folder)/\(folder)/\(middle)").sorted() {
                let path = "\(folder)/\(middle)/\(name)"
                let digest = ContentDigest(hex: String(name.prefix(64)))
                let candidates = configuration.imageExtension.candidates
                if let digest, digests.contains(Self.short(digest)),
                    candidates.contains(where: { path == ShardLayout.hashedPath(digest, extension: $0) })
                {
                    continue
                }
                report.add(path, "No row of the run names it.")
            }
        }
    }

    private mutating func checkNames(in folder: String, expected: Set<String>) throws(BatchFailure) {
        let names = Set(try OutputFolder.names(in: "\(configuration.folder)/\(folder)"))
        for name in names.subtracting(expected).sorted() {
            report.add("\(folder)/\(name)", "No row of the shard names it.")
        }
    }
}
