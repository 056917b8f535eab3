internal import Glibc

/// Reads a finished shard: the rows of its sidecar, and the files of its samples.
///
/// A shard that another writer replaces remains readable as it was when the reader was created, unless its samples are
/// files. Not safe for concurrent use. Each call may read and write, and so blocks its thread.
package final class ShardReader {
    /// The maximum length of a line and of a caption, in bytes.
    private static let textLimit = 256 << 20

    /// The columns of the sidecar, after its first row was read. Those of the configuration are not used, because a
    /// resumed run may not know them yet.
    package private(set) var schema: SidecarSchema?

    private let configuration: ShardWriter.Configuration
    private let folder: String
    private let sidecar: StoredFile
    private let archive: StoredFile?
    private var index: TarIndex?

    /// Opens a shard.
    ///
    /// - Parameters:
    ///   - shard: The number of the shard.
    ///   - configuration: What all shards of the run have in common.
    /// - Throws: `OutputError` if the sidecar or the archive cannot be opened.
    package init(_ shard: Int, _ configuration: ShardWriter.Configuration) throws(OutputError) {
        let layout = configuration.layout
        self.configuration = configuration
        folder = "\(configuration.folder)/\(layout.shardName(shard))"
        sidecar = try StoredFile("\(configuration.folder)/\(layout.sidecarName(shard))")
        archive =
            configuration.form == .webdataset
            ? try StoredFile("\(configuration.folder)/\(layout.archiveName(shard))") : nil
    }

    // MARK: Rows

    /// Calls `body` with each row and its index in the shard, in their order.
    ///
    /// - Throws: `OutputError` if the sidecar cannot be read or is damaged, also behind rows that were reported; and
    ///   the errors of `body`.
    package func rows(_ body: (Int, SidecarRow) throws(OutputError) -> Void) throws(OutputError) {
        var decoder = InputDecoder()
        var lines = RecordScanner(separator: nil, limit: Self.textLimit)
        var offset: Int64 = 0
        var count = 0
        let start = try sidecar.read(Int(min(sidecar.size, 4)), at: 0)
        guard InputFormat.Compression.detected(start: start[...]) == .zstd else { throw damage("It is not zstd data.") }
        while true {
            while let line = lines.next() {
                schema = schema ?? SidecarSchema(line: line.bytes)
                guard line.problem == nil, count < configuration.layout.shardSize, let schema,
                    let row = SidecarRow(line: line.bytes, schema: schema)
                else { throw damage("Line \(count + 1) is not as it was written.") }
                try body(count, row)
                count += 1
            }
            if lines.isAtEnd { break }
            if let piece = try next(&decoder) {
                lines.append(piece)
            } else if decoder.isAtEnd {
                lines.isAtEnd = true
            } else if offset < sidecar.size {
                let chunk = try sidecar.read(Int(min(Int64(StoredFile.chunkSize), sidecar.size - offset)), at: offset)
                offset += Int64(chunk.count)
                decoder.append(chunk[...])
            } else {
                decoder.end()
            }
        }
        if count == 0 { throw damage("It has no rows.") }
    }

    private func next(_ decoder: inout InputDecoder) throws(OutputError) -> ArraySlice<UInt8>? {
        do throws(InputError) {
            return try decoder.next()
        } catch {
            if error == .outOfMemory { throw OutputError(.read, sidecar.path, ENOMEM) }
            throw damage(error.description)
        }
    }

    private func damage(_ text: String) -> OutputError { OutputError(damaged: sidecar.path, text) }

    // MARK: Samples

    /// Gives the image of a row a file of its own: a copy, or a link to the same file.
    ///
    /// - Parameters:
    ///   - row: A row with an image.
    ///   - path: The path of the new file. An existing file is replaced.
    /// - Returns: The size of the image, in bytes.
    /// - Throws: `OutputError` if the image is missing or damaged, or if the file cannot be written.
    package func extractImage(_ row: SidecarRow, to path: String) throws(OutputError) -> Int64 {
        let (file, offset, size) = try image(row)
        if archive == nil {
            // A file of this name may be left of an attempt that was killed.
            guard unsafe unlink(path) == 0 || errno == ENOENT else { throw OutputError(.remove, path) }
            try OutputFolder.link(file.path, to: path, size: size)
        } else {
            let target = try OutputFile(path)
            try file.copy(size, at: offset, to: target)
            try target.commit(synchronizes: false)
        }
        return size
    }

    /// Returns the caption of a row with an image, or `nil` if samples have none.
    package func caption(_ row: SidecarRow) throws(OutputError) -> String? {
        guard configuration.hasCaptions, configuration.form != .hashedFiles else { return nil }
        let (file, offset, size) = try member(row, "txt")
        guard size <= Self.textLimit, let text = String(validating: try file.read(Int(size), at: offset), as: UTF8.self)
        else { throw OutputError(damaged: file.path, "The caption of \(row.key) is not as it was written.") }
        return text
    }

    /// Returns the place of a row's image.
    func image(_ row: SidecarRow) throws(OutputError) -> (file: StoredFile, offset: Int64, size: Int64) {
        guard row.status == .success else { throw damage("The row \(row.key) has no image.") }
        guard configuration.form == .hashedFiles else { return try member(row, configuration.imageExtension) }
        guard let digest = row.sha256 else { throw damage("The row \(row.key) has no digest.") }
        let name = ShardLayout.hashedPath(digest, extension: configuration.imageExtension)
        let file = try StoredFile("\(configuration.folder)/\(name)")
        return (file, 0, file.size)
    }

    /// Returns the place of a member of a row's sample, which has files of its own.
    func member(
        _ row: SidecarRow, _ name: String
    ) throws(OutputError) -> (file: StoredFile, offset: Int64, size: Int64) {
        let name = "\(row.key).\(name)"
        guard let archive else {
            let file = try StoredFile("\(folder)/\(name)")
            return (file, 0, file.size)
        }
        guard let member = try members()?[name] else {
            throw OutputError(damaged: archive.path, "It has no member named \(name).")
        }
        return (archive, member.offset, member.size)
    }

    /// Returns the members of the archive. Reads their headers once.
    func members() throws(OutputError) -> TarIndex? {
        guard let archive else { return nil }
        if index == nil { index = try TarIndex(archive) }
        return index
    }
}
