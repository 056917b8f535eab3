/// Splits a stream of bytes into lines. It buffers only an incomplete line and the bytes appended last.
struct LineSplitter {
    enum Line: Equatable {
        /// A line without its terminator, and without leading and trailing white space.
        case text([UInt8])
        /// A line beyond the limit: its number and its beginning. The rest is skipped, not stored.
        case tooLong(number: Int, beginning: [UInt8])
        /// A line beyond `longest`, which counts as endless: its number. No lines follow.
        case endless(number: Int)
    }

    /// The maximum length of a line, in bytes.
    let limit: Int
    /// The length in bytes beyond which a line counts as endless.
    let longest: Int
    private var pending: [UInt8] = []
    private var position = 0
    /// The number of the current line, from 1.
    private var number = 1
    /// The number of bytes dropped so far from the current line, if it is too long.
    private var dropped = 0
    private var isFirstLine = true

    init(limit: Int, longest: Int = .max) {
        self.limit = limit
        self.longest = longest
    }

    /// Appends bytes that were read. Take all lines with ``next(isAtEnd:)`` before appending more.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        pending.removeFirst(position)
        position = 0
        unsafe pending.append(contentsOf: bytes)
    }

    /// Returns the next line, skipping blank ones and those that begin with `#`.
    ///
    /// - Parameter isAtEnd: Whether no bytes will follow, so that the remaining ones are the last line.
    /// - Returns: `nil` if more bytes have to be read first.
    mutating func next(isAtEnd: Bool) -> Line? {
        while position < pending.count || isAtEnd {
            let rest = pending[position...]
            guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? (isAtEnd ? rest.endIndex : nil) else {
                return lineGoesOn()
            }
            if isAtEnd && rest.isEmpty { return nil }
            position = min(end + 1, pending.count)
            defer { number += 1 }
            if dropped > 0 {
                dropped = 0
                continue
            }
            let line = trimmed(rest[..<end])
            if line.count > limit { return .tooLong(number: number, beginning: Array(line.prefix(200))) }
            if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
            return .text(Array(line))
        }
        return nil
    }

    private mutating func lineGoesOn() -> Line? {
        let rest = pending[position...]
        if dropped > 0 {
            dropped += rest.count
            position = pending.count
            return dropped > longest ? .endless(number: number) : nil
        }
        // A little more than the limit, for white space at both ends.
        guard rest.count > limit + 64 else { return nil }
        dropped = rest.count
        let line = trimmed(rest)
        position = pending.count
        return line.first == UInt8(ascii: "#") ? nil : .tooLong(number: number, beginning: Array(line.prefix(200)))
    }

    private mutating func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line
        if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        isFirstLine = false
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        while let first = line.first, isSpace(first) { line = line.dropFirst() }
        while let last = line.last, isSpace(last) { line = line.dropLast() }
        return line
    }
}
