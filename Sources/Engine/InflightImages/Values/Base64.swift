internal import FoundationEssentials

/// Base64 (RFC 4648 section 4). Decodes the alphabet for URLs (section 5) too, with or without padding.
package enum Base64 {
    package static func encoded(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// Returns the decoded bytes; `nil` if `text` is not base64. ASCII white space is ignored.
    package static func decoded(_ text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 3)
        var held: UInt32 = 0
        var digits = 0
        var padding = 0
        for byte in text {
            if isIgnored(byte) { continue }
            if byte == pad {
                padding += 1
                continue
            }
            guard padding == 0, let value = value(byte) else { return nil }
            held = held << 6 | UInt32(value)
            digits += 1
            if digits == 4 {
                bytes.append(UInt8(truncatingIfNeeded: held >> 16))
                bytes.append(UInt8(truncatingIfNeeded: held >> 8))
                bytes.append(UInt8(truncatingIfNeeded: held))
                held = 0
                digits = 0
            }
        }
        guard padding == 0 || (padding <= 2 && padding + digits == 4) else { return nil }
        switch digits {
        case 0: break
        case 2: bytes.append(UInt8(truncatingIfNeeded: held >> 4))
        case 3:
            bytes.append(UInt8(truncatingIfNeeded: held >> 10))
            bytes.append(UInt8(truncatingIfNeeded: held >> 2))
        default: return nil
        }
        return bytes
    }

    package static let pad = UInt8(ascii: "=")

    package static func isIgnored(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }

    private static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x41...0x5A: byte - 0x41
        case 0x61...0x7A: byte - 0x61 + 26
        case 0x30...0x39: byte - 0x30 + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
