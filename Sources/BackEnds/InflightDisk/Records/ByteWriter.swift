internal import InflightCore

/// Encodes a record: numbers in as few bytes as they need (seven bits per byte, lowest first), texts and byte runs
/// prefixed with their lengths.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ byte: UInt8) {
        bytes.append(byte)
    }

    mutating func number(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Writes small numbers of either sign in few bytes.
    mutating func number(_ number: Int64) {
        self.number(UInt64(bitPattern: number << 1 ^ number >> 63))
    }

    mutating func run(_ run: some Collection<UInt8>) {
        number(UInt64(run.count))
        bytes.append(contentsOf: run)
    }

    mutating func text(_ text: String) {
        run(text.utf8)
    }
}

/// Decodes the output of ``ByteWriter`` from untrusted bytes. Every length is checked against the remaining bytes
/// before it is used, and a mismatch is an error.
struct ByteReader {
    struct Malformed: Error {}

    private let bytes: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes[...]
        position = 0
    }

    var isAtEnd: Bool { position == bytes.endIndex }
    var left: Int { bytes.endIndex - position }

    mutating func byte() throws(Malformed) -> UInt8 {
        guard position < bytes.endIndex else { throw Malformed() }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func number() throws(Malformed) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            let next = try byte()
            let part = UInt64(next & 0x7F)
            guard shift < 63 || part <= 1 else { throw Malformed() }
            number |= part << shift
            if next < 0x80 { return number }
        }
        throw Malformed()
    }

    mutating func signedNumber() throws(Malformed) -> Int64 {
        let number = try number()
        return Int64(bitPattern: number >> 1) ^ -Int64(number & 1)
    }

    mutating func run() throws(Malformed) -> ArraySlice<UInt8> {
        let count = try number()
        guard count <= UInt64(left) else { throw Malformed() }
        let start = position
        position += Int(count)
        return bytes[start..<position]
    }

    mutating func text() throws(Malformed) -> String {
        let bytes = try run()
        guard let text = String(utf8: bytes.span) else { throw Malformed() }
        return text
    }
}
