/// Conversions between bytes and hexadecimal digits.
package enum Hexadecimal {
    /// Returns the value of an ASCII digit, in either case, or nil if it is not a digit.
    package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }

    /// Returns the bytes that pairs of digits stand for, or nil if there is anything else.
    package static func bytes(_ digits: some Collection<UInt8>) -> [UInt8]? {
        let values = digits.compactMap(value)
        guard values.count == digits.count, values.count % 2 == 0 else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }

    /// Returns two lower-case digits for each byte.
    package static func text(_ bytes: [UInt8]) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Returns the 16 lower-case digits of a number.
    package static func text(_ number: UInt64) -> String {
        let digits = (0..<16).map { digit(UInt8(truncatingIfNeeded: number >> (60 - 4 * $0)) & 15) }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func digit(_ value: UInt8, ten: UInt8 = 0x61) -> UInt8 {
        value < 10 ? 0x30 + value : ten + value - 10
    }

    /// Appends a percent sign and two upper-case digits, as in URLs.
    package static func appendPercentEncoded(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(digit(byte >> 4, ten: 0x41))
        bytes.append(digit(byte & 15, ten: 0x41))
    }
}
