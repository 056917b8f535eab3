/// Reads the rows of one input from chunks of bytes.
///
/// A value without I/O. The results do not depend on how the input is cut into chunks. The reader holds at most the row
/// limit and the bytes appended last.
///
/// ```swift
/// var reader = RowReader(format: .csv, options: .init())
/// while let chunk = read() {
///     reader.append(chunk)
///     while let result = try reader.next() { … }
/// }
/// reader.end()
/// while let result = try reader.next() { … }
/// ```
package struct RowReader: Sendable {
    /// A row of the input.
    package enum Result: Hashable, Sendable {
        /// A row that can be used.
        case row(InputRow)
        /// A row that cannot be used.
        case reject(InputReject)
    }

    /// The indices of the columns in the header.
    private struct Header {
        var names: [String]
        var url: Int
        var id: Int?
        var caption: Int?
    }

    /// The number of bytes at the beginning of the input in which many NUL bytes show that it is not text.
    package static let binaryCheckLength = 4096
    /// The share of NUL bytes among those read that text does not have.
    private static let binaryShare = 8

    /// The number of rows so far, rejected ones included.
    package private(set) var rowCount = 0
    /// The number of blank lines so far. They are not rows.
    package private(set) var blankLineCount = 0

    private let format: InputFormat
    private let options: InputOptions
    private var scanner: RecordScanner
    private var appendedCount = 0
    /// The offsets of the NUL bytes at the beginning of the input.
    private var offsetsOfNUL: [Int] = []
    private var hasStarted = false
    private var header: Header?
    private var failure: InputError?

    /// Creates a reader at the beginning of an input.
    package init(format: InputFormat, options: InputOptions) {
        self.format = format
        self.options = options
        let grammar: RecordScanner.Grammar =
            switch format {
            case .text, .jsonLines: .lines
            case .json: .linesOrArrays
            case .csv: .fields(separator: UInt8(ascii: ","), isQuoted: options.quoting != InputOptions.Quoting.none)
            case .tsv: .fields(separator: UInt8(ascii: "\t"), isQuoted: options.quoting == .csv)
            }
        scanner = RecordScanner(grammar, limit: options.rowLimit)
    }

    /// Appends bytes that were read, without compression. Take all rows with ``next()`` before appending more.
    package mutating func append(_ chunk: ArraySlice<UInt8>) {
        for (index, byte) in chunk.prefix(max(0, Self.binaryCheckLength - appendedCount)).enumerated() where byte == 0 {
            offsetsOfNUL.append(appendedCount + index)
        }
        appendedCount += chunk.count
        scanner.append(chunk)
    }

    /// Records that no more bytes will follow.
    package mutating func end() {
        scanner.isAtEnd = true
    }

    /// The share of the appended bytes that the rows so far have taken, from 0 to 1.
    var readShare: Double { appendedCount == 0 ? 0 : Double(scanner.scannedOffset) / Double(appendedCount) }

    /// Returns the next row or reject, or `nil` if more bytes have to be appended first or the input has ended.
    ///
    /// - Throws: ``InputError`` if the input cannot be read. Further calls throw the same error.
    package mutating func next() throws(InputError) -> Result? {
        if let failure { throw failure }
        do throws(InputError) {
            return try read()
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func read() throws(InputError) -> Result? {
        guard try start() else { return nil }
        while let record = scanner.next() {
            try checkText(upTo: scanner.scannedOffset)
            if record.problem == nil, isBlank(record) {
                blankLineCount += 1
            } else if header == nil, isTable {
                header = try readHeader(record)
            } else {
                defer { rowCount += 1 }
                return result(record)
            }
        }
        // An endless line does not delay the error.
        if scanner.isSkipping, scanner.droppedOffset >= Self.binaryCheckLength {
            try checkText(upTo: scanner.droppedOffset)
        }
        if scanner.isAtEnd, rowCount == 0 { throw .empty(header: header != nil && options.columnNames == nil) }
        return nil
    }

    /// Examines the first bytes. Returns whether enough of them were appended.
    private mutating func start() throws(InputError) -> Bool {
        if hasStarted { return true }
        guard scanner.isAtEnd || appendedCount >= BinarySignature.length else { return false }
        hasStarted = true
        if let kind = BinarySignature.kind(of: scanner.held) { throw .binary(kind: kind) }
        let others = options.digestColumns.values.min() ?? options.boxColumn
        if format == .text, let column = options.idColumn ?? options.captionColumn ?? others {
            throw .missingColumn(column, columns: [])
        }
        if let names = options.columnNames {
            guard isTable else { throw .columnNamesWithoutTable }
            header = try makeHeader(names)
        }
        if scanner.held.starts(with: [0xEF, 0xBB, 0xBF]) { scanner.skip(3) }
        return true
    }

    /// Throws if the first bytes have so many NUL bytes that the input is not text. A few of them are in rows that are
    /// rejected.
    private func checkText(upTo offset: Int) throws(InputError) {
        guard !offsetsOfNUL.isEmpty else { return }
        let end = min(offset, Self.binaryCheckLength)
        if offsetsOfNUL.count(where: { $0 < end }) * Self.binaryShare > end { throw .binary(kind: nil) }
    }

    /// Whether the input has columns by their position.
    private var isTable: Bool { format == .csv || format == .tsv }

    private func isBlank(_ record: RecordScanner.Record) -> Bool {
        isTable ? record.bytes.isEmpty : record.bytes.allSatisfy(Self.isSpace)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

    private mutating func readHeader(_ record: RecordScanner.Record) throws(InputError) -> Header {
        if case .tooLong(let limit) = record.problem { throw .headerTooLong(limit: limit) }
        if let problem = record.problem { throw .malformedHeader(problem) }
        guard isUTF8(record.bytes) else { throw .malformedHeader(.notUTF8) }
        guard !record.bytes.contains(0) else { throw .malformedHeader(.containsNUL) }
        return try makeHeader(record.fields.map(record.text))
    }

    private mutating func makeHeader(_ names: [String]) throws(InputError) -> Header {
        var indices: [String: Int] = [:]
        for (index, name) in names.enumerated() {
            if indices.updateValue(index, forKey: name) != nil { throw .duplicateColumn(name) }
        }
        func index(_ name: String) throws(InputError) -> Int {
            guard let index = indices[name] else { throw .missingColumn(name, columns: names) }
            return index
        }
        var header = Header(names: names, url: try index(options.urlColumn))
        if let name = options.idColumn { header.id = try index(name) }
        if let name = options.captionColumn { header.caption = try index(name) }
        for name in options.digestColumns.values.sorted() + [options.boxColumn].compactMap(\.self) {
            _ = try index(name)
        }
        scanner.maximumFields = names.count
        if format == .csv, options.quoting == nil {
            scanner.rowShape = .init(fieldCount: names.count, urlField: header.url)
        }
        return header
    }

    private func result(_ record: RecordScanner.Record) -> Result {
        do throws(InputReject.Reason) {
            if let problem = record.problem { throw problem }
            guard isUTF8(record.bytes) else { throw .notUTF8 }
            guard !record.bytes.contains(0) else { throw .containsNUL }
            var row = InputRow(number: rowCount, line: record.line, url: "")
            if let header {
                try readFields(record, header, into: &row)
            } else if format == .json || format == .jsonLines {
                try readMembers(record, into: &row)
            } else {
                row.url = String(decoding: record.bytes, as: UTF8.self)
            }
            row.url = Self.trimmed(row.url)
            for function in BodyDigest.Function.allCases {
                guard let column = options.digestColumns[function] else { continue }
                guard let digest = BodyDigest(function, text: row.text(ofColumn: column) ?? "") else {
                    throw .notADigest(column: column, function)
                }
                row.digests.append(digest)
            }
            if let column = options.boxColumn {
                do throws(BlurBox.Problem) {
                    row.boxes = try row.boxes(inColumn: column)
                } catch {
                    throw .notBoxes(column: column, error)
                }
            }
            return .row(row)
        } catch {
            return .reject(InputReject(number: rowCount, line: record.line, reason: error))
        }
    }

    /// Returns the text without white space around it.
    private static func trimmed(_ text: String) -> String {
        func isSpace(_ byte: UInt8) -> Bool { Self.isSpace(byte) || byte == 0x0A }
        let start = text.utf8.drop(while: isSpace)
        guard let end = start.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(Substring(start[...end]))
    }

    private func isUTF8(_ bytes: ArraySlice<UInt8>) -> Bool {
        (try? UTF8Span(validating: bytes.span)) != nil
    }

    private func readFields(
        _ record: RecordScanner.Record, _ header: Header, into row: inout InputRow
    ) throws(InputReject.Reason) {
        guard record.fieldCount == header.names.count else {
            let count = header.names.count
            throw options.columnNames == nil
                ? .wrongNumberOfFields(record.fieldCount, header: count)
                : .otherNumberOfFields(record.fieldCount, columns: count)
        }
        for (index, field) in record.fields.enumerated() {
            let text = record.text(field)
            if index == header.url { row.url = text }
            if index == header.id { row.id = text }
            if index == header.caption { row.caption = text }
            if index != header.url, index != header.id, index != header.caption {
                row.columns.append(.init(name: header.names[index], value: .text(text)))
            }
        }
    }

    private func readMembers(
        _ record: RecordScanner.Record, into row: inout InputRow
    ) throws(InputReject.Reason) {
        let bytes = record.bytes
        let members: [JSONScanner.Member]?
        do throws(JSONScanner.Failure) {
            members = try JSONScanner.members(bytes)
        } catch {
            // An element of an array may have several lines.
            let before = bytes[..<error.index]
            guard let lineFeed = before.lastIndex(of: 0x0A) else {
                throw .malformedJSON(error.problem, column: before.count + 1)
            }
            let line = record.line + before.count { $0 == 0x0A }
            throw .malformedJSON(error.problem, line: line, column: error.index - lineFeed)
        }
        guard let members else { throw .notAnObject }
        var names: Set<String> = []
        for member in members {
            let name = member.name
            guard names.insert(name).inserted else { throw .duplicateMember(name) }
            let isNull = member.value.first == UInt8(ascii: "n")
            if name == options.urlColumn {
                guard let text = isNull ? "" : JSONScanner.text(member.value) else {
                    throw .urlNotAString(member: name)
                }
                row.url = text
            }
            if name == options.idColumn, !isNull { row.id = try id(member) }
            if name == options.captionColumn, !isNull {
                row.caption = JSONScanner.text(member.value) ?? String(decoding: member.value, as: UTF8.self)
            }
            if name != options.urlColumn, name != options.idColumn, name != options.captionColumn {
                row.columns.append(.init(name: name, value: .json(Array(member.value))))
            }
        }
        guard names.contains(options.urlColumn) else { throw .missingURL(member: options.urlColumn) }
    }

    private func id(_ member: JSONScanner.Member) throws(InputReject.Reason) -> String {
        if let text = JSONScanner.text(member.value) { return text }
        guard let byte = member.value.first, byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte) else {
            throw .idNotAStringOrNumber(member: member.name)
        }
        return String(decoding: member.value, as: UTF8.self)
    }
}
