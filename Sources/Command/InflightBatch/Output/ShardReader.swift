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
    /// - Throws: ``BatchFailure`` if the sidecar or the archive cannot be opened.
    package init(_ shard: Int, _ configuration: ShardWriter.Configuration) throws(BatchFailure) {
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
    /// - Throws: ``BatchFailure`` if the sidecar cannot be read or is damaged, also behind rows that were reported; and
    ///   the errors of `body`.
    package func rows(_ body: (Int, SidecarRow) throws(BatchFailure) -> Void) throws(BatchFailure) {
        var decoder = InputDecoder()
        var lines = RecordScanner(.lines, limit: Self.textLimit)
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

    private func next(_ decoder: inout InputDecoder) throws(BatchFailure) -> ArraySlice<UInt8>? {
        do throws(InputError) {
            return try decoder.next()
        } catch {
            if error == .outOfMemory { throw .output(.read, sidecar.path, ENOMEM) }
            throw damage(error.description)
        }
    }

    private func damage(_ text: String) -> BatchFailure { .output(damaged: sidecar.path, text) }

    // MARK: Samples

    /// Returns the caption of a row with an image, or `nil` if samples have none.
    package func caption(_ row: SidecarRow) throws(BatchFailure) -> String? {
        guard configuration.hasCaptions, configuration.form != .hashedFiles else { return nil }
        let member = try member(row, "txt")
        guard member.size <= Self.textLimit, let text = String(validating: try member.bytes(), as: UTF8.self) else {
            throw .output(damaged: member.file.path, "The caption of \(row.key) is not as it was written.")
        }
        return text
    }

    /// Returns the place of a row's image.
    ///
    /// - Throws: ``BatchFailure`` if the row has none, or if it is missing.
    package func image(_ row: SidecarRow) throws(BatchFailure) -> FileRange {
        guard row.status == .success else { throw damage("The row \(row.key) has no image.") }
        let fileExtension = try imageExtension(of: row)
        guard configuration.form == .hashedFiles else { return try member(row, fileExtension) }
        return try StoredFile(try hashedPath(row, fileExtension)).whole
    }

    /// Returns the extension of a row's image, the first candidate if the image is missing.
    func imageExtension(of row: SidecarRow) throws(BatchFailure) -> String {
        let candidates = configuration.imageExtension.candidates
        for candidate in candidates.dropFirst(candidates.count == 1 ? 1 : 0) {
            if archive != nil {
                if try members()?["\(row.key).\(candidate)"] != nil { return candidate }
            } else {
                let path =
                    configuration.form == .hashedFiles
                    ? try hashedPath(row, candidate) : "\(folder)/\(row.key).\(candidate)"
                if try OutputFolder.size(ofFile: path) != nil { return candidate }
            }
        }
        return candidates[0]
    }

    private func hashedPath(_ row: SidecarRow, _ fileExtension: String) throws(BatchFailure) -> String {
        guard let digest = row.image.sha256 else { throw damage("The row \(row.key) has no digest.") }
        return "\(configuration.folder)/\(ShardLayout.hashedPath(digest, extension: fileExtension))"
    }

    /// Returns the place of a member of a row's sample, which has files of its own.
    func member(_ row: SidecarRow, _ name: String) throws(BatchFailure) -> FileRange {
        let name = "\(row.key).\(name)"
        guard let archive else { return try StoredFile("\(folder)/\(name)").whole }
        guard let member = try members()?[name] else {
            throw .output(damaged: archive.path, "It has no member named \(name).")
        }
        return FileRange(file: archive, offset: member.offset, size: member.size)
    }

    /// Returns a row and its image, which begins at a block of the archive. Reads only this sample.
    ///
    /// - Throws: ``BatchFailure`` if there is no sample as it was written.
    func sample(atBlock block: UInt32) throws(BatchFailure) -> (SidecarRow, FileRange) {
        let offset = Int64(block) * Int64(TarHeader.blockSize)
        guard let archive else { throw damage("There is no archive.") }
        let image = try member(endingIn: configuration.imageExtension.candidates, at: offset, of: archive)
        let padded = (image.body.size + Int64(TarHeader.blockSize) - 1) / Int64(TarHeader.blockSize) + 1
        let text = try member(endingIn: ["json"], at: offset + padded * Int64(TarHeader.blockSize), of: archive)
        guard text.body.size <= Self.textLimit else { throw .output(damaged: archive.path, "A row is too long.") }
        let line = try text.body.bytes()
        guard let schema = SidecarSchema(line: line[...]), let row = SidecarRow(line: line[...], schema: schema),
            row.key == image.key, row.key == text.key, row.status == .success
        else { throw .output(damaged: archive.path, "The sample at byte \(offset) is not as it was written.") }
        return (row, image.body)
    }

    private func member(
        endingIn extensions: [String], at offset: Int64, of archive: StoredFile
    ) throws(BatchFailure) -> (key: String, body: FileRange) {
        let block = try archive.read(TarHeader.blockSize, at: offset - Int64(TarHeader.blockSize))
        guard let (name, size) = TarHeader.nameAndSize(block),
            let fileExtension = extensions.first(where: { name.hasSuffix("." + $0) }),
            (try? TarHeader(path: name, size: size))?.bytes == block
        else { throw .output(damaged: archive.path, "The header before byte \(offset) is not as it was written.") }
        let key = String(name.dropLast(fileExtension.count + 1))
        return (key, FileRange(file: archive, offset: offset, size: size))
    }

    /// Returns the members of the archive. Reads their headers once.
    func members() throws(BatchFailure) -> TarIndex? {
        guard let archive else { return nil }
        if index == nil { index = try TarIndex(archive) }
        return index
    }
}
