internal import CInflightBatch
internal import InflightCore

/// The work of writing one shard, from the outcomes of its rows. Runs on the thread that assembles shards.
struct ShardAssembly: Sendable {
    /// What one row adds to its shard.
    enum Part: Sendable {
        /// The staged image of a row, which may be an earlier one.
        case image(row: Int, size: Int64, ImageRecord)
        case failure(class: String, message: String)
        /// What an earlier row added to its shard, which is finished. `failureClass` is nil if it has an image.
        case copy(row: Int, failureClass: String?)
    }

    var shard: Int
    var parts: [Part]
    var rows: ShardRows
    var writer: ShardWriter.Configuration
    var staging: StagingFolder
    var keys: BatchConfiguration.Keys
    /// The options that keys by digest depend on.
    var keyOptions: String
    /// The names of the input's columns that pass through.
    var ownColumns: [String]
    /// The time since the shard's first row.
    var duration: Duration

    /// Writes the shard. Blocks its thread.
    ///
    /// - Returns: Its statistics, and the number of rows whose other columns were left out.
    func run() throws(OutputError) -> (ShardStats, rowsWithOtherColumns: Int) {
        let output = try ShardWriter(shard, writer)
        let copies = try copies()
        var unique = ShardKeys()
        var rowsWithOtherColumns = 0
        for (index, part) in parts.enumerated() {
            guard let input = try rows.row(index) else { throw OutputError(.read, staging.path, 0) }
            var row = SidecarRow(url: input.url, key: "", status: .success)
            row.key = key(of: input, index, &unique)
            if !values(of: input, &row) { rowsWithOtherColumns += 1 }
            switch part {
            case .image(let number, let size, let record):
                row.take(record)
                try output.add(row, .image(path: staging.file(number), size: size, caption: input.caption))
            case .failure(let name, let message): try add(&row, name, message, to: output)
            case .copy(let number, let failureClass):
                guard let copy = copies[number] else { throw OutputError(.read, staging.path, 0) }
                if let failureClass {
                    try add(&row, failureClass, copy.row.errorMessage ?? "", to: output)
                } else {
                    (row.width, row.height) = (copy.row.width, copy.row.height)
                    (row.originalWidth, row.originalHeight) = (copy.row.originalWidth, copy.row.originalHeight)
                    (row.exif, row.sha256) = (copy.row.exif, copy.row.sha256)
                    try output.add(row, .image(path: copy.path, size: copy.size, caption: input.caption))
                }
            }
        }
        let stats = try output.finish(duration: duration)
        for copy in copies.values { try? OutputFolder.remove(file: copy.path) }
        return (stats, rowsWithOtherColumns)
    }

    private func add(
        _ row: inout SidecarRow, _ name: String, _ message: String, to output: ShardWriter
    ) throws(OutputError) {
        row.status = FailureClasses.isImageFault(name) ? .failedToResize : .failedToDownload
        row.errorMessage = message
        try output.add(row, .failure(class: name))
    }

    // MARK: Rows of finished shards

    private struct Copy {
        var row: SidecarRow
        var path = ""
        var size: Int64 = 0
    }

    /// Reads the rows of finished shards that rows of this one repeat, each shard once.
    private func copies() throws(OutputError) -> [Int: Copy] {
        var wanted: [Int: Set<Int>] = [:]
        for case .copy(let row, _) in parts {
            wanted[writer.layout.position(of: row).shard, default: []].insert(row)
        }
        var copies: [Int: Copy] = [:]
        for (source, rows) in wanted {
            let reader = try ShardReader(source, writer)
            let first = writer.layout.rows(of: source).lowerBound
            var found: [Int: SidecarRow] = [:]
            try reader.rows { index, row in if rows.contains(first + index) { found[first + index] = row } }
            for (number, row) in found {
                var copy = Copy(row: row)
                if row.status == .success {
                    // Not a row's number: shards that are assembled later may copy the same row again.
                    copy.path = "\(staging.path)/\(number)-in-\(shard)"
                    copy.size = try reader.extractImage(row, to: copy.path)
                }
                copies[number] = copy
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
        guard !input.columns.isEmpty else { return true }
        var known = 0
        row.ownValues = ownColumns.map { name in
            guard let column = input.columns.first(where: { $0.name == name }) else { return nil }
            known += 1
            switch column.value {
            case .json(let bytes): return bytes
            case .text(let text):
                var json = JSONWriter()
                json.string(text)
                return json.bytes
            }
        }
        return known == input.columns.count
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
