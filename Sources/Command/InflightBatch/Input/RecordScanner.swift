/// Splits a stream of bytes into records: lines, or the rows of RFC 4180.
///
/// Its results do not depend on how the stream is cut into chunks. It holds at most the row limit and the bytes
/// appended last, and examines each byte once, or twice after a quote that is never closed.
struct RecordScanner {
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
    }

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
    private var isQuoted = false
    private var isEscaped = false
    private var closingQuote = 0
    private var openingQuote = 0
    private var openingLine = 0
    /// The line of `openingQuote`. It differs from `openingLine` only if the opening quote was dropped.
    private var rewindLine = 0

    /// Creates a scanner for lines or, with a separator, for rows with quoted fields.
    ///
    /// - Parameter limit: The maximum length of a record in bytes, without the final LF. Clamped to 1…2³².
    init(separator: UInt8?, limit: Int) {
        self.separator = separator
        self.limit = max(1, min(limit, 1 << 32))
        state = separator == nil ? .line : .fieldStart
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
            if state == .quoted {
                if cursor - base > limit || (isAtEnd && cursor == bytes.count) {
                    rewindToQuote()
                    continue
                }
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
                if byte == Self.quote {
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
                } else {
                    if problem == nil { problem = .textAfterQuote(line: line) }
                    state = .unquoted
                    continue
                }
            }
            cursor += 1
        }
        return false
    }

    private mutating func openQuote() {
        if isSkipping { base = cursor }
        openingQuote = cursor
        openingLine = line
        rewindLine = line
        isQuoted = true
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
            isQuoted = false
            isEscaped = false
            state = .fieldStart
        }
        guard separator != nil else { return }
        fieldCount += 1
        guard !isSkipping, fields.count < maximumFields else { return }
        let range = isQuoted ? (openingQuote + 1)..<max(openingQuote + 1, closingQuote) : fieldStart..<end
        fields.append(Field(range: (range.lowerBound - base)..<(range.upperBound - base), isEscaped: isEscaped))
    }

    /// Ends the record at the LF at the cursor.
    private mutating func endRecord() -> Bool {
        endField(at: cursor)
        line += 1
        cursor += 1
        return true
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
        state = separator == nil ? .line : .fieldStart
        return record
    }
}
