internal import Glibc
internal import InflightConcurrency
internal import InflightCore
internal import InflightPrograms

/// The work of writing one shard, from the outcomes of its rows. Runs on the thread that assembles shards.
struct ShardAssembly: Sendable {
    /// What one row adds to its shard.
    enum Part: Sendable {
        /// The staged image of a row, which may be one of an earlier shard.
        case image(row: Int, StagedImage)
        case failure(class: String, message: String)
        /// The image of an earlier row, whose shard is finished: at this block of its archive, if it is known.
        case copy(row: Int, block: UInt32?)
    }

    /// How the work ended.
    enum Ending: Sendable {
        case written(Result)
        /// Nothing was written: the staged images of these rows are not as they were staged.
        case lost(Set<Int>)
    }

    /// A shard that was written.
    struct Result: Sendable {
        var stats: ShardStats
        /// As ``ShardWriter/imageBlocks``.
        var imageBlocks: [UInt32]
        /// The number of rows whose other columns were left out.
        var rowsWithOtherColumns: Int
    }

    var shard: Int
    var parts: [Part]
    var rows: ShardRows
    var writer: ShardWriter.Configuration
    var staging: StagingFolder
    /// The columns of the id and the caption.
    var columns: InputOptions
    /// The names of the input's columns that pass through.
    var ownColumns: [String]
    /// The time since the shard's first row.
    var duration: Duration
    /// Ends the work soon, with an error.
    var cancellation: CancellationFlag

    /// Writes the shard. Blocks its thread.
    func run() throws(BatchFailure) -> Ending {
        let output = try ShardWriter(shard, writer)
        var earlier = try EarlierShards(parts, writer)
        var staged: [Int: StoredFile] = [:]
        var rowsWithOtherColumns = 0
        var lost: Set<Int> = []
        var block = ShardRows.Block()
        for (index, part) in parts.enumerated() {
            if cancellation.isCancelled { throw .output(.write, staging.path, ECANCELED) }
            guard let input = try rows.row(index, &block) else { throw .output(.read, staging.path, 0) }
            var row = SidecarRow(url: input.url, key: "", status: .success)
            row.key = input.key ?? writer.layout.positionKey(.init(shard: shard, index: index))
            if !values(of: input, &row) { rowsWithOtherColumns += 1 }
            switch part {
            case .image(let number, let image):
                let shard = writer.layout.position(of: number).shard
                if !(try staging.holds(image, shard: shard)) { lost.insert(number) }
                guard lost.isEmpty else { continue }
                let file: StoredFile
                if let open = staged[shard] { file = open } else { file = try StoredFile(staging.file(shard)) }
                staged[shard] = file
                row.image = image.record
                try output.add(
                    row, .image(FileRange(file: file, offset: image.offset, size: image.size), caption: input.caption))
            case .failure(let name, let message):
                row.status = FailureClasses.isImageFault(name) ? .failedToResize : .failedToDownload
                (row.errorMessage, row.errorClass) = (message, name)
                try output.add(row, .failure(class: name))
            case .copy(let number, let block):
                let (original, image) = try earlier.sample(number, block)
                row.image = original.image
                try output.add(row, .image(image, caption: input.caption))
            }
        }
        guard lost.isEmpty else { return .lost(lost) }
        let stats = try output.finish(duration: duration)
        return .written(
            Result(stats: stats, imageBlocks: output.imageBlocks, rowsWithOtherColumns: rowsWithOtherColumns))
    }

    /// The finished shards that have the images of duplicates.
    private struct EarlierShards {
        /// The number of shards that are open at the same time.
        private static let readerLimit = 64

        private let writer: ShardWriter.Configuration
        private var readers: [Int: ShardReader] = [:]
        /// The rows whose block is not known, from the sidecars.
        private var rows: [Int: SidecarRow] = [:]

        /// Reads the sidecar of each shard with a row whose block is not known.
        init(_ parts: [Part], _ writer: ShardWriter.Configuration) throws(BatchFailure) {
            self.writer = writer
            var wanted: [Int: Set<Int>] = [:]
            for case .copy(let row, nil) in parts {
                wanted[writer.layout.position(of: row).shard, default: []].insert(row)
            }
            for (shard, numbers) in wanted {
                let first = writer.layout.rows(of: shard).lowerBound
                try ShardReader(shard, writer).rows { (index, row) throws(BatchFailure) in
                    if numbers.contains(first + index) { rows[first + index] = row }
                }
            }
        }

        mutating func sample(_ row: Int, _ block: UInt32?) throws(BatchFailure) -> (SidecarRow, FileRange) {
            let shard = writer.layout.position(of: row).shard
            if readers[shard] == nil, readers.count >= Self.readerLimit { readers = [:] }
            let reader: ShardReader
            if let open = readers[shard] { reader = open } else { reader = try ShardReader(shard, writer) }
            readers[shard] = reader
            if let block { return try reader.sample(atBlock: block) }
            guard let found = rows[row] else {
                throw .output(
                    damaged: "\(writer.folder)/\(writer.layout.sidecarName(shard))", "It has no row \(row).")
            }
            return (found, try reader.image(found))
        }
    }

    // MARK: Columns

    /// Sets the values of the own columns. Returns whether the row has no others.
    private func values(of input: InputRow, _ row: inout SidecarRow) -> Bool {
        var known = 0
        row.ownValues = ownColumns.map { name in
            if name == columns.idColumn { return input.id.map(Self.json) }
            if name == columns.captionColumn { return input.caption.map(Self.json) }
            guard let column = input.columns.first(where: { $0.name == name }) else { return nil }
            known += 1
            switch column.value {
            case .json(let bytes): return bytes
            case .text(let text): return Self.json(text)
            }
        }
        return known == input.columns.count
    }

    private static func json(_ text: String) -> [UInt8] { JSONWriter.value(text, .required) }
}

extension Journal {
    /// Returns what the rows of a shard add to it, with their images and failures.
    func parts(
        of shard: Int, _ range: Range<Int>, _ parts: [ShardBook.Part]
    ) throws(BatchFailure) -> [ShardAssembly.Part] {
        let rows = try rows(of: shard)
        guard rows.count == range.count, zip(rows, range).allSatisfy({ $0.number == $1 }) else {
            let missing = zip(range, rows).first { $0 != $1.number }?.0 ?? range.lowerBound + rows.count
            throw .journal(.incomplete(folder, shard: shard, row: missing))
        }
        var found: [ShardAssembly.Part] = []
        found.reserveCapacity(parts.count)
        for (own, part) in zip(rows, parts) {
            switch part {
            case .image(let row):
                let outcome = row == own.number ? own.outcome : try self.row(row)?.outcome
                guard case .success(let image)? = outcome else {
                    throw .journal(.incomplete(folder, shard: shard, row: row))
                }
                found.append(.image(row: row, image))
            case .failure(let row):
                let outcome = row == own.number ? own.outcome : try self.row(row)?.outcome
                guard case .failure(let name, var message)? = outcome else {
                    throw .journal(.incomplete(folder, shard: shard, row: row))
                }
                if row != own.number { message = ShardBook.Part.message(asRow: row) }
                found.append(.failure(class: name, message: message))
            case .finished(let original):
                let row = try finishedRow(original)
                if case .failure(let name)? = row?.outcomeClass {
                    found.append(.failure(class: name, message: ShardBook.Part.message(asRow: original)))
                } else {
                    found.append(.copy(row: original, block: row?.imageBlock))
                }
            }
        }
        return found
    }
}
