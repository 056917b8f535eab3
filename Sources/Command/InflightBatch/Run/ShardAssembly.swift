internal import Glibc
internal import InflightConcurrency
internal import InflightCore

/// The work of writing one shard, from the outcomes of its rows. Runs on the thread that assembles shards.
struct ShardAssembly: Sendable {
    /// What one row adds to its shard.
    enum Part: Sendable {
        /// The staged image of a row, which may be an earlier one.
        case image(row: Int, size: Int64, ImageRecord)
        case failure(class: String, message: String)
        /// The image of an earlier row, whose shard is finished.
        case copy(row: Int)

        /// A duplicate of a failed row. The message does not depend on whether that row's shard is finished.
        static func failure(_ name: String, asRow original: Int) -> Part {
            .failure(class: name, message: "Row \(original) names the same URL, and failed.")
        }
    }

    var shard: Int
    var parts: [Part]
    var rows: ShardRows
    var writer: ShardWriter.Configuration
    var staging: StagingFolder
    var keys: BatchConfiguration.Keys
    /// The options that keys by digest depend on.
    var keyOptions: String
    /// The columns of the id and the caption.
    var columns: InputOptions
    /// The names of the input's columns that pass through.
    var ownColumns: [String]
    /// The time since the shard's first row.
    var duration: Duration
    /// Ends the work soon, with an error.
    var cancellation: CancellationFlag

    /// Writes the shard. Blocks its thread.
    ///
    /// - Returns: Its statistics, and the number of rows whose other columns were left out.
    func run() throws(OutputError) -> (ShardStats, rowsWithOtherColumns: Int) {
        let output = try ShardWriter(shard, writer)
        let copies = try copies()
        var unique = ShardKeys()
        var rowsWithOtherColumns = 0
        for (index, part) in parts.enumerated() {
            if cancellation.isCancelled { throw OutputError(.write, staging.path, ECANCELED) }
            guard let input = try rows.row(index) else { throw OutputError(.read, staging.path, 0) }
            var row = SidecarRow(url: input.url, key: "", status: .success)
            row.key = key(of: input, index, &unique)
            if !values(of: input, &row) { rowsWithOtherColumns += 1 }
            switch part {
            case .image(let number, let size, let record):
                row.take(record)
                try output.add(row, .image(path: staging.file(number), size: size, caption: input.caption))
            case .failure(let name, let message):
                row.status = FailureClasses.isImageFault(name) ? .failedToResize : .failedToDownload
                row.errorMessage = message
                try output.add(row, .failure(class: name))
            case .copy(let number):
                guard let copy = copies[number] else {
                    throw OutputError(damaged: staging.path, "Row \(number) has no image in its shard.")
                }
                row.take(copy.record)
                try output.add(row, .image(path: copy.path, size: copy.size, caption: input.caption))
            }
        }
        let stats = try output.finish(duration: duration)
        for copy in copies.values { try? OutputFolder.remove(file: copy.path) }
        return (stats, rowsWithOtherColumns)
    }

    // MARK: Rows of finished shards

    private struct Copy {
        var record: ImageRecord
        var path: String
        var size: Int64
    }

    /// Copies the images of rows in finished shards, and reads each such shard once.
    private func copies() throws(OutputError) -> [Int: Copy] {
        var wanted: [Int: Set<Int>] = [:]
        for case .copy(let row) in parts { wanted[writer.layout.position(of: row).shard, default: []].insert(row) }
        var copies: [Int: Copy] = [:]
        for (source, rows) in wanted {
            let reader = try ShardReader(source, writer)
            let first = writer.layout.rows(of: source).lowerBound
            try reader.rows { (index, row) throws(OutputError) in
                guard rows.contains(first + index), row.status == .success else { return }
                // Not the name of a row's own image.
                let path = "\(staging.path)/\(first + index)-in-\(shard)"
                let size = try reader.extractImage(row, to: path)
                copies[first + index] = Copy(record: ImageRecord(row), path: path, size: size)
            }
        }
        return copies
    }

    // MARK: Keys and columns

    private func key(of row: InputRow, _ index: Int, _ unique: inout ShardKeys) -> String {
        switch keys {
        case .position: return writer.layout.positionKey(.init(shard: shard, index: index))
        case .id where row.id != nil:
            return unique.unique(SampleKey.key(id: Array((row.id ?? "").utf8)) { Self.digest($0) })
        case .id, .digest:
            return unique.unique(SampleKey.key(digest: Self.digest(Array((keyOptions + "\n" + row.url).utf8))))
        }
    }

    private static func digest(_ bytes: [UInt8]) -> ContentDigest {
        guard let digest = ContentDigest(of: Bytes(bytes)) else { preconditionFailure("OpenSSL has no memory") }
        return digest
    }

    /// Sets the values of the own columns. Returns whether the row has no others.
    private func values(of input: InputRow, _ row: inout SidecarRow) -> Bool {
        var known = 0
        row.ownValues = ownColumns.map { name in
            if name == columns.idColumn { return Self.json(input.id) }
            // As in the sample's text file: readers infer the type of a column from the first rows.
            if name == columns.captionColumn { return Self.json(input.caption ?? "") }
            guard let column = input.columns.first(where: { $0.name == name }) else { return nil }
            known += 1
            switch column.value {
            case .json(let bytes): return bytes
            case .text(let text): return Self.json(text)
            }
        }
        return known == input.columns.count
    }

    private static func json(_ text: String?) -> [UInt8]? {
        guard let text else { return nil }
        var json = JSONWriter()
        json.string(text)
        return json.bytes
    }
}

extension Journal {
    /// Returns what the rows of a shard add to it.
    func parts(
        of shard: Int, _ outcomes: [AssembledOutcome<Int>]
    ) throws(JournalError) -> [ShardAssembly.Part] {
        var images: [Int: ImageRecord] = [:]
        var finished: [Int: FinishedShard] = [:]
        for row in try rows(of: shard) {
            if case .success(let sample) = row.outcome { images[row.number] = sample.token }
        }
        var parts: [ShardAssembly.Part] = []
        parts.reserveCapacity(outcomes.count)
        for outcome in outcomes {
            switch outcome {
            case .success(let sample), .duplicate(_, .staged(let sample)):
                if images[sample.token] == nil, case .success(let other)? = try row(sample.token)?.outcome {
                    images[sample.token] = other.token
                }
                let image = images[sample.token] ?? ImageRecord()
                parts.append(.image(row: sample.token, size: sample.imageSize, image))
            case .failure(let name, let message): parts.append(.failure(class: name, message: message))
            case .duplicate(let original, .failed(let name, _)): parts.append(.failure(name, asRow: original))
            case .duplicate(let original, .finished):
                let place = layout.position(of: original)
                if finished[place.shard] == nil { finished[place.shard] = try finishedShard(place.shard) }
                if case .failure(let name)? = finished[place.shard]?.classes[place.index] {
                    parts.append(.failure(name, asRow: original))
                } else {
                    parts.append(.copy(row: original))
                }
            }
        }
        return parts
    }
}

extension SidecarRow {
    /// Sets what the journal has recorded of the image.
    mutating func take(_ record: ImageRecord) {
        (width, height) = (record.width, record.height)
        (originalWidth, originalHeight) = (record.originalWidth, record.originalHeight)
        (exif, sha256) = (record.exif, record.sha256)
    }
}

extension ImageRecord {
    /// Creates the record of a row that a sidecar describes.
    init(_ row: SidecarRow) {
        self.init()
        (width, height) = (row.width, row.height)
        (originalWidth, originalHeight) = (row.originalWidth, row.originalHeight)
        (exif, sha256) = (row.exif, row.sha256)
    }
}
