/// The header block of a regular file in an archive (IEEE Std 1003.1, pax, "ustar Interchange Format").
///
/// Mode 0644, owner and group 0 with empty names, and time 0 are fixed, so that equal members give equal bytes.
package struct TarHeader: Equatable, Sendable {
    /// The size of a block, in bytes. A header is one block, and a body is padded to a multiple of it.
    package static let blockSize = 512
    /// The maximum size of a body, in bytes: 11 octal digits, 8 GiB − 1.
    package static let maximumSize: Int64 = 0o777_7777_7777

    /// The reason why a member cannot be written.
    package enum Failure: Error, Equatable, Sendable {
        /// The name is empty, absolute, has an empty, `.` or `..` component, a component that begins with `-`, or a
        /// byte outside the portable file name character set (XBD section 3.265: `A–Z a–z 0–9 . _ -`).
        case nameNotPortable
        /// The name has more than 100 bytes and no `/` that splits it into 155 and 100 bytes.
        case nameTooLong
        /// The body is larger than ``TarHeader/maximumSize``, or its size is negative.
        case sizeOutOfRange
    }

    private let prefix: ArraySlice<UInt8>
    private let name: ArraySlice<UInt8>
    private let size: Int64

    /// Creates a header.
    ///
    /// - Parameters:
    ///   - path: The member's name: components of the portable file name character set, separated by `/`.
    ///   - size: The size of the body, in bytes.
    package init(path: String, size: Int64) throws(Failure) {
        let bytes = Array(path.utf8)
        guard bytes.count <= 256 else { throw .nameTooLong }
        guard Self.isPortable(bytes[...]) else { throw .nameNotPortable }
        guard size >= 0, size <= Self.maximumSize else { throw .sizeOutOfRange }
        self.size = size
        if bytes.count <= 100 {
            prefix = []
            name = bytes[...]
        } else {
            // The first separator that leaves at most 100 bytes leaves the shortest prefix.
            guard let slash = bytes[(bytes.count - 101)...].firstIndex(of: UInt8(ascii: "/")), slash <= 155 else {
                throw .nameTooLong
            }
            prefix = bytes[..<slash]
            name = bytes[(slash + 1)...]
        }
    }

    private static func isPortable(_ path: ArraySlice<UInt8>) -> Bool {
        path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { component in
            guard let first = component.first, first != UInt8(ascii: "-") else { return false }
            guard !component.elementsEqual(".".utf8), !component.elementsEqual("..".utf8) else { return false }
            return component.allSatisfy { $0.isKeySafe || $0 == UInt8(ascii: ".") }
        }
    }

    /// The header as one block of 512 bytes.
    package var bytes: [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.blockSize)
        func put(_ value: some Sequence<UInt8>, at offset: Int) {
            var position = offset
            for byte in value {
                block[position] = byte
                position += 1
            }
        }
        func octal(_ value: Int64, digits: Int) -> [UInt8] {
            (0..<digits).reversed().map { UInt8(ascii: "0") + UInt8(truncatingIfNeeded: (value >> ($0 * 3)) & 7) }
        }
        put(name, at: 0)
        put(octal(0o644, digits: 7), at: 100)
        put(octal(0, digits: 7), at: 108)
        put(octal(0, digits: 7), at: 116)
        put(octal(size, digits: 11), at: 124)
        put(octal(0, digits: 11), at: 136)
        // The checksum is the sum of all bytes, with its own field as spaces.
        put([UInt8](repeating: UInt8(ascii: " "), count: 8), at: 148)
        block[156] = UInt8(ascii: "0")
        put("ustar\0".utf8, at: 257)
        put("00".utf8, at: 263)
        put(octal(0, digits: 7), at: 329)
        put(octal(0, digits: 7), at: 337)
        put(prefix, at: 345)
        let sum = block.reduce(Int64(0)) { $0 + Int64($1) }
        put(octal(sum, digits: 6) + [0, UInt8(ascii: " ")], at: 148)
        return block
    }
}

extension UInt8 {
    /// Whether the byte is an ASCII letter, a digit, `_` or `-`: the portable file name characters without the dot.
    var isKeySafe: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
