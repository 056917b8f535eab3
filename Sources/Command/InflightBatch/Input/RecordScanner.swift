/// Splits a stream of bytes into records: lines, the rows of RFC 4180, or the elements of a JSON array.
///
/// Its results do not depend on how the stream is cut into chunks. It holds at most the row limit and the bytes
/// appended last, and examines each byte once, or twice after a quote that its line does not close.
struct RecordScanner {
    /// How a stream is divided.
    enum Grammar: Hashable, Sendable {
        /// A record per line.
        case lines
        /// A record per line, or per element where an array begins in place of a line. Behind the array, lines follow.
        case linesOrArrays
        /// A row of fields per line. If `isQuoted`, a field in quotes may contain separators and line breaks.
        case fields(separator: UInt8, isQuoted: Bool)
    }

    /// A field in the bytes of its record, without quotes.
    struct Field {
        /// The offsets in the record.
        var range: Range<Int>
        /// Whether the field contains doubled quotes.
        var isEscaped: Bool
    }

    /// A record, blank ones included.
    struct Record {
        /// The line where the record begins, from 1.
        var line: Int
        /// The bytes without the line break; empty if they were skipped.
        var bytes: ArraySlice<UInt8>
        /// The first fields, at most ``RecordScanner/maximumFields``; empty without a separator.
        var fields: [Field]
        /// The number of all fields.
        var fieldCount: Int
        /// Why the record cannot be used, if it cannot.
        var problem: InputReject.Reason?

        /// The bytes of a field, without quotes.
        func text(_ field: Field) -> String {
            let range = field.range
            let content = bytes[(bytes.startIndex + range.lowerBound)..<(bytes.startIndex + range.upperBound)]
            guard field.isEscaped else { return String(decoding: content, as: UTF8.self) }
            var isDoubled = false
            let unescaped = content.filter { byte in
                isDoubled = byte == RecordScanner.quote && !isDoubled
                return !isDoubled
            }
            return String(decoding: unescaped, as: UTF8.self)
        }
    }

    private enum State {
        case fieldStart, unquoted, quoted
        /// After a quote in a quoted field: the end of the field, or the first half of a doubled quote.
        case afterQuote
        /// After a CR that follows a closing quote.
        case afterQuoteCR
        /// Only a line break has a meaning.
        case line
        /// At the beginning of a line, which may be that of an array.
        case lineOrArray
        /// In an array, outside of its elements.
        case array
        case element
        /// Behind a malformed element, before the next one.
        case damaged
    }

    /// What the rows of a table look like.
    struct RowShape: Hashable, Sendable {
        /// The number of fields.
        var fieldCount: Int
        /// The index of the field that holds the URL.
        var urlField: Int
    }

    /// The shape by which a quoted field of several lines is searched for rows that it hides; `nil` disables it.
    ///
    /// A caption that begins with a quote, and a later one that ends with one, look like one field of RFC 4180. Such a
    /// field, and one after which the number of fields is wrong, rejects its first line.
    var rowShape: RowShape?
    /// The maximum number of fields to return for each record.
    var maximumFields = Int.max
    /// Whether no more bytes will follow.
    var isAtEnd = false
    /// Whether the current record exceeds the limit and its bytes are dropped.
    private(set) var isSkipping = false

    private static let quote = UInt8(ascii: "\"")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private let separator: UInt8?
    private let isQuoted: Bool
    private let limit: Int
    private var bytes: [UInt8] = []
    /// The number of bytes of the stream before `bytes`.
    private var offset = 0
    /// The beginning of the record or, while skipping, of the bytes to keep: those from an open quote.
    private var base = 0
    private var cursor = 0
    private var state: State
    private var line = 1
    private var recordLine = 1
    private var problem: InputReject.Reason?
    private var fields: [Field] = []
    private var fieldCount = 0
    private var fieldStart = 0
    private var isQuotedField = false
    private var isEscaped = false
    private var closingQuote = 0
    private var openingQuote = 0
    private var openingLine = 0
    /// The line of `openingQuote`. It differs from `openingLine` only if the opening quote was dropped.
    private var rewindLine = 0
    /// The number of bytes that were scanned again because of ``rowShape``.
    private var rescannedCount = 0
    /// The state at the beginning of a record.
    private var home: State
    private var element = JSONElement()
    private var gap = JSONElement.Gap()

    /// Creates a scanner.
    ///
    /// - Parameter limit: The maximum length of a record in bytes, without the final LF. Clamped to 1…2³².
    init(_ grammar: Grammar, limit: Int) {
        self.limit = max(1, min(limit, 1 << 32))
        switch grammar {
        case .lines: (home, separator, isQuoted) = (.line, nil, false)
        case .linesOrArrays: (home, separator, isQuoted) = (.lineOrArray, nil, false)
        case .fields(let byte, let hasQuotes): (home, separator, isQuoted) = (.fieldStart, byte, hasQuotes)
        }
        state = home
    }

    /// The number of bytes of the stream up to the end of the record returned last.
    var scannedOffset: Int { offset + cursor }
    /// The number of bytes of the stream that were dropped or returned for good.
    var droppedOffset: Int { offset + base }
    /// The bytes that were appended and not dropped.
    var held: ArraySlice<UInt8> { bytes[base...] }

    /// Appends bytes that were read.
    mutating func append(_ chunk: ArraySlice<UInt8>) {
        offset += base
        cursor -= base
        fieldStart -= base
        openingQuote -= base
        closingQuote -= base
        bytes.removeFirst(base)
        base = 0
        bytes.append(contentsOf: chunk)
    }

    /// Skips a byte order mark. Call it before ``next()``.
    mutating func skip(_ count: Int) {
        base = count
        cursor = count
        fieldStart = count
    }

    /// Returns the next record, or `nil` if more bytes have to be appended first or the stream has ended.
    mutating func next() -> Record? {
        while true {
            let isInQuotes = state == .quoted || state == .afterQuote
            let isBounded = !isSkipping || isInQuotes
            if scan(upTo: isBounded ? min(bytes.count, base + limit + 1) : bytes.count) { return takeRecord() }
            if state == .quoted || state == .afterQuote && line > rewindLine {
                if cursor - base > limit || (isAtEnd && cursor == bytes.count && state == .quoted) {
                    rewindToQuote()
                    continue
                }
            } else if state == .array, isAtEnd, cursor == bytes.count {
                (home, problem, recordLine) = (.lineOrArray, .unclosedArray, line)
                return takeRecord()
            } else if isSkipping {
                // A second quote may continue the field, so that its beginning is still needed.
                if state != .afterQuote || cursor - base > limit { base = cursor }
            } else if cursor - base > limit {
                startSkipping(.tooLong(limit: limit))
                continue
            }
            guard cursor == bytes.count else { continue }
            guard isAtEnd, isSkipping || cursor > base else { return nil }
            endField(at: cursor)
            if state == .element { home = .lineOrArray }
            if hidesRows(upTo: line) {
                rewindToLine()
                continue
            }
            return takeRecord()
        }
    }

    /// Scans until the end of the record, a quote that opens while skipping, or `end`.
    ///
    /// - Returns: Whether the record ended.
    private mutating func scan(upTo end: Int) -> Bool {
        while cursor < end {
            let byte = bytes[cursor]
            switch state {
            case .line:
                if byte == Self.lineFeed { return endRecord() }
            case .fieldStart:
                if byte == Self.quote, isQuoted {
                    openQuote()
                    if isSkipping { return false }
                    continue
                }
                state = .unquoted
                continue
            case .unquoted:
                if byte == Self.lineFeed { return endRecord() }
                if byte == separator { endField(at: cursor) }
            case .quoted:
                if byte == Self.quote {
                    state = .afterQuote
                    closingQuote = cursor
                } else if byte == Self.lineFeed {
                    line += 1
                }
            case .afterQuote, .afterQuoteCR:
                if byte == Self.lineFeed { return endRecord() }
                if state == .afterQuote, byte == Self.quote {
                    doubleQuote()
                } else if state == .afterQuote, byte == Self.carriageReturn {
                    state = .afterQuoteCR
                } else if state == .afterQuote, byte == separator {
                    endField(at: cursor)
                } else if line > rewindLine {
                    // Most such quotes are part of the text of lines that are rows of their own.
                    rewindToQuote()
                    return false
                } else {
                    if problem == nil { problem = .textAfterQuote(line: line) }
                    state = .line
                    continue
                }
            case .lineOrArray, .array, .element, .damaged:
                if scanJSON(byte) { return true }
                continue
            }
            cursor += 1
        }
        return false
    }

    /// Scans a byte of an input that may be an array. Returns whether a record ended.
    private mutating func scanJSON(_ byte: UInt8) -> Bool {
        let isSpace = byte == 0x20 || byte == 0x09 || byte == Self.carriageReturn || byte == Self.lineFeed
        switch state {
        case .lineOrArray:
            if byte == Self.lineFeed { return endRecord() }
            if byte == UInt8(ascii: "["), !isSkipping {
                (home, state) = (.array, .array)
                drop()
            } else if isSpace {
                cursor += 1
            } else {
                // Only the first line, or that behind an array, may begin one.
                (home, state) = (.line, .line)
            }
        case .array:
            if byte == UInt8(ascii: "]") {
                drop()
                (home, state, recordLine) = (.lineOrArray, .lineOrArray, line)
            } else if isSpace || byte == UInt8(ascii: ",") {
                drop()
            } else {
                (state, element, recordLine) = (.element, JSONElement(), line)
            }
        case .element:
            switch element.scan(byte) {
            case .isOpen: break
            case .endedBefore: return true
            case .ended:
                cursor += 1
                return true
            case .isDamaged:
                // While skipping, the bytes are gone, at once or with the next chunk.
                if !isSkipping, let count = element.bytesSinceNext {
                    line -= bytes[(cursor - count)..<cursor].count { $0 == Self.lineFeed }
                    cursor -= count
                    return true
                }
                (home, gap) = (.damaged, element.gap)
                _ = gap.scan(byte)
                if byte == Self.lineFeed { line += 1 }
                cursor += 1
                return true
            }
            if byte == Self.lineFeed { line += 1 }
            cursor += 1
        default:
            if gap.scan(byte) {
                (home, state) = (.array, .array)
            } else {
                drop()
            }
        }
        return false
    }

    /// Drops the byte at the cursor.
    private mutating func drop() {
        if bytes[cursor] == Self.lineFeed { line += 1 }
        cursor += 1
        base = cursor
    }

    private mutating func openQuote() {
        if isSkipping { base = cursor }
        openingQuote = cursor
        openingLine = line
        rewindLine = line
        isQuotedField = true
        state = .quoted
        cursor += 1
    }

    private mutating func doubleQuote() {
        state = .quoted
        isEscaped = true
        guard isSkipping, openingQuote < base else { return }
        // The limit fell between the two quotes, and the beginning of the field was dropped.
        base = cursor
        openingQuote = cursor
        rewindLine = line
    }

    private mutating func endField(at end: Int) {
        defer {
            fieldStart = end + 1
            isQuotedField = false
            isEscaped = false
            if separator != nil { state = .fieldStart }
        }
        guard separator != nil else { return }
        fieldCount += 1
        guard !isSkipping, fields.count < maximumFields else { return }
        let range = isQuotedField ? (openingQuote + 1)..<max(openingQuote + 1, closingQuote) : fieldStart..<end
        fields.append(Field(range: (range.lowerBound - base)..<(range.upperBound - base), isEscaped: isEscaped))
    }

    /// Ends the record at the LF at the cursor. Returns whether it is complete.
    private mutating func endRecord() -> Bool {
        endField(at: cursor)
        cursor += 1
        if hidesRows(upTo: line) {
            rewindToLine()
            return false
        }
        line += 1
        return true
    }

    // MARK: Hidden rows

    /// Returns whether the record ends on a later line than that on which it begins, and seems to hide rows.
    private func hidesRows(upTo lastLine: Int) -> Bool {
        guard let rowShape, !isSkipping, problem == nil, lastLine > recordLine else { return false }
        // Each byte is scanned a few times at most, whatever the input.
        guard rescannedCount + cursor - base <= (1 << 16) + 4 * scannedOffset else { return false }
        if fieldCount != rowShape.fieldCount { return true }
        return bytes[base..<cursor].split(separator: Self.lineFeed).dropFirst().contains { isRow($0, rowShape) }
    }

    /// Returns whether a line is a row of this shape if quotes mean nothing.
    private func isRow(_ line: ArraySlice<UInt8>, _ shape: RowShape) -> Bool {
        let fields = line.split(separator: separator ?? Self.lineFeed, omittingEmptySubsequences: false)
        guard fields.count == shape.fieldCount else { return false }
        let url = fields[shape.urlField].drop { $0 == 0x20 || $0 == Self.quote }
        return url.starts(with: "http://".utf8) || url.starts(with: "https://".utf8)
    }

    /// Rejects the first line of the record, and continues at the next one.
    private mutating func rewindToLine() {
        rescannedCount += cursor - base
        cursor = base
        line = recordLine
        state = .line
        startSkipping(.quoteNeverClosed(line: recordLine))
    }

    private mutating func startSkipping(_ reason: InputReject.Reason) {
        isSkipping = true
        problem = reason
        fields = []
        base = cursor
    }

    /// Rejects the record, and continues at the line after the opening quote.
    private mutating func rewindToQuote() {
        cursor = openingQuote
        line = rewindLine
        state = .line
        startSkipping(.quoteNeverClosed(line: openingLine))
    }

    private mutating func takeRecord() -> Record {
        var content = isSkipping ? [] : bytes[base..<cursor]
        if content.last == Self.lineFeed { content = content.dropLast() }
        if content.last == Self.carriageReturn { content = content.dropLast() }
        if let last = fields.indices.last, fields[last].range.upperBound > content.count {
            // The CR before the LF belongs to the line break.
            fields[last].range = min(fields[last].range.lowerBound, content.count)..<content.count
        }
        let record = Record(line: recordLine, bytes: content, fields: fields, fieldCount: fieldCount, problem: problem)
        base = cursor
        fieldStart = cursor
        recordLine = line
        isSkipping = false
        problem = nil
        fields.removeAll(keepingCapacity: true)
        fieldCount = 0
        state = home
        return record
    }
}
