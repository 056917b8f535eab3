/// Writes the parts of a message one after the other: numbers with their lowest byte first.
package struct MessageWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func write(_ byte: UInt8) { bytes.append(byte) }
    package mutating func write(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    package mutating func write(_ number: Int) {
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    package mutating func write(_ number: Int?) {
        write(number != nil)
        if let number { write(number) }
    }

    package mutating func write(_ text: String) { write(Array(text.utf8)) }

    package mutating func write(_ part: [UInt8]) {
        write(part.count)
        bytes += part
    }
}

/// Takes a message's parts in the order in which they were written. Whatever is not there, or cannot be, is `nil`.
package struct MessageReader: Sendable {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package var isAtEnd: Bool { position == bytes.count }

    package mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    package mutating func flag() -> Bool? {
        guard let byte = byte(), byte < 2 else { return nil }
        return byte == 1
    }

    package mutating func number() -> Int? {
        guard bytes.count - position >= 8 else { return nil }
        defer { position += 8 }
        return (0..<8).reduce(0) { $0 | Int(bytes[position + $1]) << (8 * $1) }
    }

    /// A number, or that there is none.
    package mutating func optionalNumber() -> Int?? {
        guard let isThere = flag() else { return nil }
        return isThere ? number().map(Optional.some) : .some(nil)
    }

    package mutating func part() -> [UInt8]? {
        guard let count = number(), count >= 0, count <= bytes.count - position else { return nil }
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    package mutating func text() -> String? {
        part().flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Words between blanks.
    package mutating func names() -> [String]? {
        text().map { $0.split(separator: " ").map(String.init) }
    }
}
