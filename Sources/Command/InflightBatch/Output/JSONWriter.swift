/// Appends JSON (RFC 8259) to a buffer of bytes.
///
/// Strings are escaped as little as allowed: `"`, `\` and control characters. The output is UTF-8, because a `String`
/// holds no invalid Unicode. There is no white space, so that a value is one line.
struct JSONWriter {
    /// The JSON so far.
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// Begins an object.
    mutating func beginObject() {
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
    }

    /// Ends the current object.
    mutating func endObject() {
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    /// Appends the name of the next member. Append its value next.
    mutating func name(_ name: String) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = true
    }

    /// Appends a string, or `null`.
    mutating func string(_ value: String?) {
        guard let value else { return raw("null".utf8) }
        bytes.append(UInt8(ascii: "\""))
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x0A: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
            case 0x0D: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "r")]
            case 0x09: bytes += [UInt8(ascii: "\\"), UInt8(ascii: "t")]
            case 0..<0x20:
                bytes += "\\u00".utf8
                bytes += [hexadecimalDigit(byte >> 4), hexadecimalDigit(byte & 15)]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends a string of ASCII characters that need no escapes.
    mutating func text(_ ascii: [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        bytes += ascii
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends an integer, or `null`.
    mutating func integer(_ value: Int64?) {
        guard let value else { return raw("null".utf8) }
        raw(String(value).utf8)
    }

    /// Appends a value that is JSON already. Control characters become spaces, because valid JSON has them only as
    /// white space between tokens, and a line feed would end the line.
    mutating func raw(_ json: some Sequence<UInt8>) {
        for byte in json { bytes.append(byte < 0x20 ? 0x20 : byte) }
    }
}
