/// The contents of the rows of open shards, in files without names.
///
/// A run needs a row again when it is fetched and when its shard is assembled, which may be much later. Memory: less
/// than a byte for each row. The files have room for many shards each, and their space is free again once all of these
/// have been released. Not safe for concurrent use. Each call may read and write, and so blocks its thread.
final class RowStore {
    /// The size of a file above which the next shard begins another one.
    private static let fileSize: Int64 = 64 << 20

    private let path: String
    private var file: OpenFile?
    /// The end of the shards in the file before the last one.
    private var fileEnd: Int64 = 0
    private var shards: [Int: ShardRows] = [:]
    /// The shard to which rows are appended.
    private var last: (shard: Int, rows: ShardRows)?
    /// The block that was read last, and its shard.
    private var block = (shard: -1, block: ShardRows.Block())

    /// Creates a store without rows.
    ///
    /// - Parameter folder: A folder with room for the files, which are gone when the process ends.
    init(in folder: String) { path = folder + "/rows.partial" }

    /// Appends the next row of a shard. `row.line` is not stored. Rows of another shard follow only when all of this
    /// one's were appended.
    func append(_ row: InputRow, shard: Int) throws(BatchFailure) {
        if let last, last.shard == shard { return try last.rows.append(row) }
        try last?.rows.writeRest()
        endLast()
        let file: OpenFile
        if let open = self.file, fileEnd < Self.fileSize {
            file = open
        } else {
            file = try OpenFile(temporary: path)
            fileEnd = 0
        }
        self.file = file
        let rows = ShardRows(file, at: fileEnd)
        shards[shard] = rows
        last = (shard, rows)
        try rows.append(row)
    }

    /// Returns a row of a shard by its index there, or `nil` if the store does not have it.
    func row(_ index: Int, shard: Int) throws(BatchFailure) -> InputRow? {
        if block.shard != shard { block = (shard, ShardRows.Block()) }
        return try shards[shard]?.row(index, &block.block)
    }

    /// Removes the rows of a shard, and returns them. The caller may use them on another thread.
    func take(shard: Int) -> ShardRows? {
        if last?.shard == shard { endLast() }
        return shards.removeValue(forKey: shard)
    }

    /// Returns rows to the store that ``take(shard:)`` has removed. The caller does not use them any more.
    func putBack(_ rows: ShardRows, shard: Int) { shards[shard] = rows }

    private func endLast() {
        fileEnd = last?.rows.fileEnd ?? fileEnd
        last = nil
    }
}

/// The rows of one shard, in their order.
// Unchecked: one thread at a time uses it. It moves from the run's queue to the thread that assembles the shard.
final class ShardRows: @unchecked Sendable {
    /// The rows that are read at once.
    struct Block {
        fileprivate var number = -1
        fileprivate var bytes: [UInt8] = []
    }

    private static let bufferSize = 32 * 1024
    private static let rowsInBlock = 64

    private let file: OpenFile
    /// The first row of each block, and its offset in the file.
    private var blocks: [(row: Int, offset: Int64)] = []
    private var count = 0
    /// The bytes behind those in the file.
    private var buffer: [UInt8] = []
    /// The end of the bytes in the file.
    private(set) var fileEnd: Int64

    /// Creates a shard without rows, whose bytes begin at this offset of the file.
    init(_ file: OpenFile, at offset: Int64) {
        self.file = file
        fileEnd = offset
    }

    func append(_ row: InputRow) throws(BatchFailure) {
        let end = fileEnd + Int64(buffer.count)
        let isFull = blocks.last.map { count - $0.row >= Self.rowsInBlock || end - $0.offset >= Self.bufferSize }
        if isFull ?? true {
            if buffer.count >= Self.bufferSize { try flush() }
            blocks.append((count, end))
        }
        count += 1
        StoredRow.encode(row, into: &buffer)
    }

    /// Writes the rest, after the last row.
    func writeRest() throws(BatchFailure) {
        try flush()
        buffer = []
    }

    /// - Parameter block: The block that was read before, if it was one of this shard. It is replaced if the row is in
    ///   another one.
    func row(_ index: Int, _ block: inout Block) throws(BatchFailure) -> InputRow? {
        guard 0..<count ~= index else { return nil }
        let number = self.block(of: index)
        let start = blocks[number].offset
        var bytes: ArraySlice<UInt8>
        if start >= fileEnd {
            bytes = buffer[Int(start - fileEnd)...]
        } else {
            if block.number != number {
                let end = number + 1 < blocks.count ? blocks[number + 1].offset : fileEnd
                block.number = -1
                block.bytes = [UInt8](repeating: 0, count: Int(end - start))
                try file.read(&block.bytes, at: start)
                block.number = number
            }
            bytes = block.bytes[...]
        }
        guard StoredRow.skip(index - blocks[number].row, &bytes), let row = StoredRow.decode(&bytes) else {
            throw .output(.read, file.path, 0)
        }
        return row
    }

    private func block(of index: Int) -> Int {
        var range = 0..<blocks.count
        while range.count > 1 {
            let middle = range.lowerBound + range.count / 2
            range = blocks[middle].row <= index ? middle..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    private func flush() throws(BatchFailure) {
        try file.write(buffer[...], at: fileEnd)
        fileEnd += Int64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
    }
}

/// The bytes of a row in the store: their number, and texts with their lengths. Numbers have 4 bytes, the least
/// significant one first.
private enum StoredRow {
    private static let absent = UInt32.max

    static func encode(_ row: InputRow, into buffer: inout [UInt8]) {
        let start = buffer.count
        append(0, &buffer)
        defer { set(UInt32(truncatingIfNeeded: buffer.count - start - 4), at: start, &buffer) }
        append(UInt32(truncatingIfNeeded: row.columns.count), &buffer)
        append(row.url, &buffer)
        append(row.id, &buffer)
        append(row.caption, &buffer)
        append(row.key, &buffer)
        for function in BodyDigest.Function.allCases {
            append(row.digests.first { $0.function == function }?.hex, &buffer)
        }
        append(row.boxes.isEmpty ? nil : BlurBox.text(row.boxes), &buffer)
        for column in row.columns {
            append(column.name, &buffer)
            switch column.value {
            case .text(let text):
                buffer.append(0)
                append(text, &buffer)
            case .json(let bytes):
                buffer.append(1)
                append(UInt32(truncatingIfNeeded: bytes.count), &buffer)
                buffer += bytes
            }
        }
    }

    /// Removes whole rows. Returns whether there were as many.
    static func skip(_ rows: Int, _ bytes: inout ArraySlice<UInt8>) -> Bool {
        for _ in 0..<rows {
            guard let count = number(&bytes), count <= bytes.count else { return false }
            bytes = bytes.dropFirst(Int(count))
        }
        return true
    }

    static func decode(_ bytes: inout ArraySlice<UInt8>) -> InputRow? {
        guard number(&bytes) != nil, let columns = number(&bytes), let url = text(&bytes) else { return nil }
        var row = InputRow(number: 0, line: 0, url: url)
        row.id = text(&bytes)
        row.caption = text(&bytes)
        row.key = text(&bytes)
        row.digests = BodyDigest.Function.allCases.compactMap { function in
            text(&bytes).flatMap { BodyDigest(function, text: $0) }
        }
        if let boxes = text(&bytes) {
            guard let list = try? BlurBox.list(boxes) else { return nil }
            row.boxes = list
        }
        for _ in 0..<columns {
            guard let name = text(&bytes), let kind = bytes.popFirst() else { return nil }
            if kind == 0 {
                guard let value = text(&bytes) else { return nil }
                row.columns.append(.init(name: name, value: .text(value)))
            } else {
                guard let count = number(&bytes), count <= bytes.count else { return nil }
                row.columns.append(.init(name: name, value: .json(Array(bytes.prefix(Int(count))))))
                bytes = bytes.dropFirst(Int(count))
            }
        }
        return row
    }

    private static func append(_ number: UInt32, _ buffer: inout [UInt8]) {
        for shift in [0, 8, 16, 24] as [UInt32] { buffer.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private static func set(_ number: UInt32, at index: Int, _ buffer: inout [UInt8]) {
        for byte in 0..<4 { buffer[index + byte] = UInt8(truncatingIfNeeded: number >> (8 * UInt32(byte))) }
    }

    private static func append(_ text: String?, _ buffer: inout [UInt8]) {
        guard let text else { return append(absent, &buffer) }
        append(UInt32(truncatingIfNeeded: text.utf8.count), &buffer)
        buffer += text.utf8
    }

    private static func number(_ bytes: inout ArraySlice<UInt8>) -> UInt32? {
        guard bytes.count >= 4 else { return nil }
        defer { bytes = bytes.dropFirst(4) }
        return bytes.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func text(_ bytes: inout ArraySlice<UInt8>) -> String? {
        guard let count = number(&bytes), count != absent, count <= bytes.count else { return nil }
        defer { bytes = bytes.dropFirst(Int(count)) }
        return String(decoding: bytes.prefix(Int(count)), as: UTF8.self)
    }
}
