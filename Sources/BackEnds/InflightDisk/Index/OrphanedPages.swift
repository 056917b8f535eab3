internal import InflightCore
internal import InflightFiles
internal import InflightSQLite

/// Rows of an index that are no longer reachable from its root. Reads the pages one by one without SQLite, by its file
/// format (https://www.sqlite.org/fileformat2.html).
///
/// Trusts only the pointer map, which records whether a page is in use, so that evicted or removed entries are not
/// restored. The caller checks each row by its seal and its body's checksum. Each length and page number is validated.
struct OrphanedPages {
    private let fileSystem: any FileSystem
    private let file: FileDescriptor
    private let pages: Int
    /// The page and offset at which each body in the index starts.
    private var bodies: [Int64: (page: Int, position: Int)] = [:]

    private static let pageBytes = Int(Layout.pageBytes)

    /// - Parameter path: An index whose log has been copied into it.
    init(_ path: String, _ fileSystem: any FileSystem) throws(SystemError) {
        self.fileSystem = fileSystem
        file = try fileSystem.open(path, for: .reading)
        pages = Int(((try? fileSystem.status(file).size) ?? 0) / Layout.pageBytes)
    }

    func close() {
        try? file.close()
    }

    /// Finds all bodies, then calls `body` with each row.
    mutating func eachRow(_ body: (EntryRow) throws(DatabaseError) -> Void) throws(DatabaseError) {
        for number in leaves {
            guard let page = page(number) else { continue }
            for position in Self.cells(page) {
                guard let cell = Cell(page, position), cell.columns(of: page)?.count == 2 else { continue }
                bodies[cell.row] = (number, position)
            }
        }
        for number in leaves {
            guard let page = page(number) else { continue }
            for position in Self.cells(page) {
                guard let cell = Cell(page, position), let columns = cell.columns(of: page),
                    columns.count == 11,
                    let row = payload(cell, page).flatMap({ EntryRow(cell.row, columns, $0) })
                else { continue }
                try body(row)
            }
        }
    }

    /// Returns the bytes of a body, or nil if they are not the stored ones.
    func body(of row: EntryRow, identity: UInt64) -> Bytes? {
        guard let place = bodies[row.id], let page = page(place.page),
            let cell = Cell(page, place.position),
            let column = cell.columns(of: page)?.last, Int64(column.count) == row.length,
            let payload = payload(cell, page), column.upperBound <= payload.count
        else { return nil }
        let bytes = Bytes(Array(payload[column]))
        let sum = unsafe bytes.withUnsafeBytes { unsafe XXH64.of($0, seed: identity) }
        return sum == row.sum ? bytes : nil
    }

    // MARK: Pages

    /// The numbers, from 1, of pages in use that hold rows, without the first page, which holds the schema.
    private var leaves: some Sequence<Int> {
        (2..<max(2, pages + 1)).lazy.filter { number in
            var first: [UInt8] = [0]
            return isInUse(number) && read(&first, at: (number - 1) * Self.pageBytes) && first[0] == 0x0D
        }
    }

    /// Returns whether the pointer map records that a page belongs to a table.
    private func isInUse(_ number: Int) -> Bool {
        let each = Self.pageBytes / 5 + 1
        var map = (number - 2) / each * each + 2
        // SQLite never uses the page that holds its lock bytes.
        if map == (1 << 30) / Self.pageBytes + 1 { map += 1 }
        guard number > map else { return false }
        var entry: [UInt8] = [0]
        // The page is a root or another page of a tree.
        return read(&entry, at: (map - 1) * Self.pageBytes + 5 * (number - map - 1))
            && (entry[0] == 1 || entry[0] == 5)
    }

    private func page(_ number: Int) -> [UInt8]? {
        guard number > 0, number <= pages else { return nil }
        var bytes = [UInt8](repeating: 0, count: Self.pageBytes)
        return read(&bytes, at: (number - 1) * Self.pageBytes) ? bytes : nil
    }

    private func read(_ room: inout [UInt8], at offset: Int) -> Bool {
        let count = unsafe room.withUnsafeMutableBytes { memory in
            (try? unsafe fileSystem.read(file, at: Int64(offset), into: memory)) ?? 0
        }
        return count == room.count
    }

    private static func cells(_ page: [UInt8]) -> [Int] {
        let count = min(Int(page[3]) << 8 | Int(page[4]), (pageBytes - 8) / 2)
        return (0..<count).map { Int(page[8 + 2 * $0]) << 8 | Int(page[9 + 2 * $0]) }
    }

    // MARK: Rows

    /// Returns all bytes of a row, from its page and its overflow pages.
    private func payload(_ cell: Cell, _ page: [UInt8]) -> [UInt8]? {
        var bytes = Array(page[cell.local])
        var next = cell.next
        // Bounded by the stated length, so that a cycle of links ends.
        while bytes.count < cell.count {
            guard let page = self.page(next) else { return nil }
            next = Self.word(page, 0)
            bytes += page[4..<min(Self.pageBytes, 4 + cell.count - bytes.count)]
        }
        return bytes
    }

    fileprivate static func word(_ bytes: [UInt8], _ position: Int) -> Int {
        bytes[position..<(position + 4)].reduce(0) { $0 << 8 | Int($1) }
    }

    /// The header of one row in a page.
    private struct Cell {
        let row: Int64
        /// The total length of the row.
        let count: Int
        /// The range of the row's beginning in the page.
        let local: Range<Int>
        /// The first overflow page.
        let next: Int

        init?(_ page: [UInt8], _ position: Int) {
            var reader = BigEndianReader(page, at: position)
            guard let length = reader.varint(), let row = reader.varint(), length > 0,
                length <= UInt64(EntryRecord.limit + (1 << 20))
            else { return nil }
            self.row = Int64(bitPattern: row)
            count = Int(length)
            let usable = OrphanedPages.pageBytes
            let (most, least) = (usable - 35, (usable - 12) * 32 / 255 - 23)
            let wanted = count <= most ? count : least + (count - least) % (usable - 4)
            let size = wanted <= most ? wanted : least
            guard reader.position + size + (size < count ? 4 : 0) <= page.count else { return nil }
            local = reader.position..<(reader.position + size)
            next = size < count ? OrphanedPages.word(page, local.upperBound) : 0
        }

        /// Returns the ranges of the row's columns, or nil if their lengths do not fit.
        func columns(of page: [UInt8]) -> [Range<Int>]? {
            var reader = BigEndianReader(page, at: local.lowerBound)
            guard let size = reader.varint(), size <= UInt64(local.count) else { return nil }
            var start = Int(size)
            var columns: [Range<Int>] = []
            while reader.position < local.lowerBound + Int(size) {
                guard let type = reader.varint(), columns.count < 16, let length = Self.length(of: type),
                    length <= count - start
                else { return nil }
                columns.append(start..<(start + length))
                start += length
            }
            return columns
        }

        private static func length(of type: UInt64) -> Int? {
            switch type {
            case 0, 8, 9: 0
            case 1...4: Int(type)
            case 5: 6
            case 6, 7: 8
            case 12...: Int(exactly: (type - 12) / 2)
            default: nil
            }
        }
    }
}

/// Reads numbers in SQLite's byte order, most significant byte first.
private struct BigEndianReader {
    private let bytes: [UInt8]
    private(set) var position: Int

    init(_ bytes: [UInt8], at position: Int) {
        self.bytes = bytes
        self.position = position
    }

    mutating func varint() -> UInt64? {
        var number: UInt64 = 0
        for index in 0..<9 {
            guard position < bytes.count else { return nil }
            let byte = bytes[position]
            position += 1
            if index == 8 { return number << 8 | UInt64(byte) }
            number = number << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { return number }
        }
        return nil
    }
}

extension EntryRow {
    /// Decodes a row: its number precedes the bytes, which hold integers followed by a record of bytes.
    fileprivate init?(_ id: Int64, _ columns: [Range<Int>], _ payload: [UInt8]) {
        guard let record = columns.last, record.upperBound <= payload.count else { return nil }
        var header = BigEndianReader(payload, at: 0)
        _ = header.varint()
        var numbers: [Int64] = []
        for column in columns {
            guard let type = header.varint() else { return nil }
            numbers.append(type == 9 ? 1 : Self.number(payload[column]))
        }
        self.init(id, numbers: Array(numbers[1..<10]), record: Array(payload[record]))
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
        guard bytes.count <= 8, let first = bytes.first else { return 0 }
        return bytes.dropFirst().reduce(Int64(Int8(bitPattern: first))) { $0 << 8 | Int64($1) }
    }
}
