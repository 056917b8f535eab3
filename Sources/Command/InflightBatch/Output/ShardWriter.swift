internal import Glibc
internal import InflightCodings
internal import InflightConcurrency

/// Writes one shard: its samples, its sidecar and its statistics.
///
/// All files have temporary names until ``finish(duration:)`` gives them theirs: first the sidecar and the statistics,
/// last the samples. So a shard whose samples have their name is whole. An abandoned writer removes its files. What a
/// killed process leaves is replaced when the shard is written again.
///
/// The bytes of archive and sidecar depend only on the rows. Not safe for concurrent use. Each call may read and write,
/// and so blocks its thread.
package final class ShardWriter {
    /// Where the samples of a shard are.
    package enum Form: String, Hashable, Sendable {
        /// In one ustar archive.
        case webdataset
        /// In one folder.
        case files
        /// In folders by the digest of the fetched body, one image for all rows with equal bodies. Captions and
        /// metadata are in the sidecar only.
        case hashedFiles
    }

    /// What all shards of a run have in common.
    package struct Configuration: Sendable {
        /// The folder of the output.
        package var folder: String
        /// The names and sizes of shards.
        package var layout: ShardLayout
        /// Where the samples of a shard are.
        package var form: Form
        /// The columns of the sidecar.
        package var schema: SidecarSchema
        /// The extensions of the images.
        package var imageExtension: ImageExtension
        /// Whether each sample has a caption: `KEY.txt`, empty for a row without one.
        package var hasCaptions: Bool

        /// Creates a configuration.
        package init(
            folder: String, layout: ShardLayout, form: Form, schema: SidecarSchema, imageExtension: ImageExtension,
            hasCaptions: Bool = false
        ) {
            self.folder = folder
            self.layout = layout
            self.form = form
            self.schema = schema
            self.imageExtension = imageExtension
            self.hasCaptions = hasCaptions
        }
    }

    /// What a row of the shard adds to it beside its line in the sidecar.
    package enum Content: Sendable {
        /// An image, which is copied.
        case image(FileRange, caption: String? = nil)
        /// Nothing: the row failed.
        case failure(class: String)
    }

    /// The samples so far. The folders of hashed files are those that are known to exist.
    private enum Samples {
        case archive(OutputFile, TarArchive)
        case folder(temporary: String, path: String)
        case hashed(folders: Set<String>)
    }

    private let configuration: Configuration
    private let sidecar: OutputFile
    private let statsPath: String
    private let encoder: ZstandardEncoder
    private var samples: Samples
    private var stats = ShardStats()
    /// The blocks of the archive at which the images of the rows begin, 0 for rows without one. Empty without an
    /// archive, and if the archive is too large for these numbers.
    private(set) var imageBlocks: [UInt32] = []
    private var hasBlocks: Bool
    private var hasFinished = false

    /// Begins a shard.
    ///
    /// - Parameters:
    ///   - shard: The number of the shard.
    ///   - configuration: What all shards of the run have in common. Its folder exists.
    /// - Throws: ``BatchFailure`` if a file cannot be created.
    package init(_ shard: Int, _ configuration: Configuration) throws(BatchFailure) {
        let (layout, folder) = (configuration.layout, configuration.folder)
        self.configuration = configuration
        hasBlocks = configuration.form == .webdataset
        sidecar = try OutputFile("\(folder)/\(layout.sidecarName(shard))")
        statsPath = "\(folder)/\(layout.statsName(shard))"
        do {
            encoder = try ZstandardEncoder()
        } catch {
            throw .output(.create, sidecar.path, ENOMEM)
        }
        switch configuration.form {
        case .webdataset:
            samples = .archive(try OutputFile("\(folder)/\(layout.archiveName(shard))"), TarArchive())
        case .files:
            let path = "\(folder)/\(layout.shardName(shard))"
            let temporary = path + OutputFile.temporarySuffix
            try OutputFolder.remove(temporary)
            try OutputFolder.create(temporary)
            samples = .folder(temporary: temporary, path: path)
        case .hashedFiles: samples = .hashed(folders: [])
        }
    }

    deinit {
        guard !hasFinished, case .folder(let temporary, _) = samples else { return }
        try? OutputFolder.remove(temporary)
    }

    /// Adds the next row of the shard.
    ///
    /// - Parameters:
    ///   - row: The row's line in the sidecar, and its `KEY.json`.
    ///   - content: The row's image, or the class of its failure.
    /// - Throws: ``BatchFailure``. The shard cannot be continued then.
    package func add(_ row: SidecarRow, _ content: Content) throws(BatchFailure) {
        let line = row.line(configuration.schema)
        switch content {
        case .failure(let name):
            note(imageAt: 0)
            stats.addFailure(class: name, isResize: row.status == .failedToResize)
        case .image(let image, let caption):
            try addSample(row, Array(line.dropLast()), image, caption ?? "")
            stats.addSuccess(bytes: image.size)
        }
        try encode(line, ends: false)
    }

    /// Completes the shard, and writes it to the disk.
    ///
    /// - Parameter duration: The time since the shard's first row, for its statistics.
    /// - Returns: The statistics.
    /// - Throws: ``BatchFailure``. Files that have their names already remain, and are replaced by the next attempt.
    package func finish(duration: Duration) throws(BatchFailure) -> ShardStats {
        stats.duration = duration
        let end = Duration.seconds(SystemClock().secondsSince1970())
        (stats.startTime, stats.endTime) = (end - duration, end)
        try encode([], ends: true)
        try sidecar.commit()
        let statsFile = try OutputFile(statsPath)
        try statsFile.append(stats.json)
        try statsFile.commit()
        switch samples {
        case .archive(let file, var archive):
            try file.append(archive.end())
            try file.commit()
        case .folder(let temporary, let path):
            try OutputFolder.synchronizeAll(temporary)
            try OutputFolder.replace(path, with: temporary)
        case .hashed: try OutputFolder.synchronizeAll(configuration.folder)
        }
        hasFinished = true
        try OutputFolder.synchronize(configuration.folder)
        return stats
    }

    // MARK: Samples

    private func addSample(
        _ row: SidecarRow, _ json: [UInt8], _ image: FileRange, _ caption: String
    ) throws(BatchFailure) {
        let fileExtension = try configuration.imageExtension.of(image)
        var texts = [("json", json)]
        if configuration.hasCaptions { texts.append(("txt", Array(caption.utf8))) }
        switch samples {
        case .archive(let file, var archive):
            let name = "\(row.key).\(fileExtension)"
            guard let header = try? archive.beginMember(name, size: image.size) else {
                throw .output(.write, name, EFBIG)
            }
            note(imageAt: archive.bodyOffset)
            try file.append(header)
            try file.append(image)
            try file.append(archive.endMember())
            for (name, bytes) in texts {
                let name = "\(row.key).\(name)"
                guard let member = try? archive.member(name, body: bytes) else {
                    throw .output(.write, name, EFBIG)
                }
                try file.append(member)
            }
            samples = .archive(file, archive)
        case .folder(let temporary, _):
            let path = "\(temporary)/\(row.key)."
            try write(path + fileExtension) { (file) throws(BatchFailure) in try file.append(image) }
            for (name, bytes) in texts {
                try write(path + name) { (file) throws(BatchFailure) in try file.append(bytes) }
            }
        case .hashed(var folders):
            guard let digest = row.image.sha256 else { return }
            let hashedPath = ShardLayout.hashedPath(digest, extension: fileExtension)
            let target = "\(configuration.folder)/\(hashedPath)"
            let folder = String(target[..<(target.lastIndex(of: "/") ?? target.endIndex)])
            if folders.insert(folder).inserted { try OutputFolder.create(folder) }
            // Rows with equal bodies have equal images. A file that a power cut has damaged is replaced.
            if !(try Self.file(target, isEqualTo: image)) {
                try write(target) { (file) throws(BatchFailure) in try file.append(image) }
            }
            samples = .hashed(folders: folders)
        }
    }

    private static func file(_ path: String, isEqualTo image: FileRange) throws(BatchFailure) -> Bool {
        guard try OutputFolder.size(ofFile: path) == image.size else { return false }
        let file = try StoredFile(path)
        var done: Int64 = 0
        while done < image.size {
            let count = Int(min(Int64(StoredFile.chunkSize), image.size - done))
            guard try file.read(count, at: done) == image.file.read(count, at: image.offset + done) else {
                return false
            }
            done += Int64(count)
        }
        return true
    }

    private func note(imageAt offset: Int64) {
        if let block = UInt32(exactly: offset / Int64(TarHeader.blockSize)), hasBlocks {
            imageBlocks.append(block)
        } else {
            (imageBlocks, hasBlocks) = ([], false)
        }
    }

    /// Writes a file that ``finish(duration:)`` writes to the disk.
    private func write(
        _ path: String, _ append: (OutputFile) throws(BatchFailure) -> Void
    ) throws(BatchFailure) {
        let file = try OutputFile(path)
        try append(file)
        try file.commit(synchronizes: false)
    }

    private func encode(_ bytes: [UInt8], ends: Bool) throws(BatchFailure) {
        var output: [UInt8] = []
        do {
            try encoder.encode(bytes, ends: ends, into: &output)
        } catch {
            throw .output(.write, sidecar.path, ENOMEM)
        }
        try sidecar.append(output)
    }
}
