/// The contents of the rows of open shards, in one file without a name for each shard.
///
/// A run needs a row again when it is fetched and when its shard is assembled, which may be much later. Memory: eight
/// bytes for each row, and one buffer for each shard. Not safe for concurrent use. Each call may read and write, and so
/// blocks its thread.
final class RowStore {
    private let folder: String
    private var shards: [Int: ShardRows] = [:]

    /// Creates a store without rows.
    ///
    /// - Parameter folder: A folder with room for the files, which are gone when the process ends.
    init(in folder: String) { self.folder = folder }

    /// Appends the next row of a shard. `row.line` is not stored.
    func append(_ row: InputRow, shard: Int) throws(BatchFailure) {
        if shards[shard] == nil { shards[shard] = try ShardRows(folder + "/rows-\(shard).partial") }
        try shards[shard]?.append(row)
    }

    /// Returns a row of a shard by its index there, or `nil` if the store does not have it.
    func row(_ index: Int, shard: Int) throws(BatchFailure) -> InputRow? { try shards[shard]?.row(index) }

    /// Removes the rows of a shard, and returns them. The caller may use them on another thread.
    func take(shard: Int) -> ShardRows? { shards.removeValue(forKey: shard) }

    /// Returns rows to the store that ``take(shard:)`` has removed. The caller does not use them any more.
    func putBack(_ rows: ShardRows, shard: Int) { shards[shard] = rows }
}

/// The rows of one shard, in their order.
// Unchecked: one thread at a time uses it. It moves from the run's queue to the thread that assembles the shard.
final class ShardRows: @unchecked Sendable {
    private static let bufferSize = 32 * 1024

    private let file: OpenFile
    private var offsets: [UInt64] = []
    /// The bytes behind those in the file.
    private var buffer: [UInt8] = []
    private var fileSize: UInt64 = 0

    /// The number of rows.
    var count: Int { offsets.count }

    init(_ path: String) throws(BatchFailure) { file = try OpenFile(temporary: path) }

    func append(_ row: InputRow) throws(BatchFailure) {
        offsets.append(fileSize + UInt64(buffer.count))
        StoredRow.encode(row, into: &buffer)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    func row(_ index: Int) throws(BatchFailure) -> InputRow? {
        guard index < offsets.count else { return nil }
        let start = offsets[index]
        let end = index + 1 < offsets.count ? offsets[index + 1] : fileSize + UInt64(buffer.count)
        var bytes: ArraySlice<UInt8>
        if start >= fileSize {
            bytes = buffer[Int(start - fileSize)..<Int(end - fileSize)]
        } else {
            var stored = [UInt8](repeating: 0, count: Int(end - start))
            try file.read(&stored, at: Int64(start))
            bytes = stored[...]
        }
        guard let row = StoredRow.decode(&bytes) else { throw .output(.read, file.path, 0) }
        return row
    }

    private func flush() throws(BatchFailure) {
        try file.write(buffer[...], at: Int64(fileSize))
        fileSize += UInt64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
    }
}

/// The bytes of a row in the store: texts with their lengths, 4 bytes each, least significant byte first.
private enum StoredRow {
    private static let absent = UInt32.max

    static func encode(_ row: InputRow, into buffer: inout [UInt8]) {
        append(UInt32(truncatingIfNeeded: row.columns.count), &buffer)
        append(row.url, &buffer)
        append(row.id, &buffer)
        append(row.caption, &buffer)
        append(row.key, &buffer)
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

    static func decode(_ bytes: inout ArraySlice<UInt8>) -> InputRow? {
        guard let columns = number(&bytes), let url = text(&bytes) else { return nil }
        var row = InputRow(number: 0, line: 0, url: url)
        row.id = text(&bytes)
        row.caption = text(&bytes)
        row.key = text(&bytes)
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
