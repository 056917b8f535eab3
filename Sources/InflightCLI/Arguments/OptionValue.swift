import Inflight

/// Reads the values of options; each complaint names the option, what it takes, and what it was given.
enum OptionValue {
    /// A page as people count, from 1, as programs do.
    static func page(_ text: String, of name: String) throws(UsageError) -> Int {
        try integer(text, of: name, in: 1...1_000_000) - 1
    }

    static func integer(_ text: String, of name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard let number = digits(text), range.contains(number) else {
            let limits =
                range.upperBound == .max
                ? "of at least \(range.lowerBound)"
                : "from \(range.lowerBound) to \(Quantity.grouped(range.upperBound))"
            throw UsageError("\(name) takes a whole number \(limits), not \(text.quoted).")
        }
        return number
    }

    /// Seconds, with a decimal fraction where wanted.
    static func seconds(_ text: String, of name: String) throws(UsageError) -> Duration {
        let plain = text.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || $0 == UInt8(ascii: ".") }
        guard plain, let seconds = Double(text), seconds >= 0.001, seconds <= 1_000_000 else {
            throw UsageError("\(name) takes seconds from 0.001 to 1,000,000, such as 30 or 2.5, not \(text.quoted).")
        }
        return .milliseconds(Int64((seconds * 1000).rounded()))
    }

    /// `WxH`, `Wx` or `xH`, in pixels.
    static func size(_ text: String, of name: String) throws(UsageError) -> (width: Int?, height: Int?) {
        try size(text, of: name, "in pixels from 1 to 65,535, such as 320x240, 320x or x240")
    }

    /// `WxH`, `Wx` or `xH`, in cells of a terminal.
    static func cells(_ text: String, of name: String) throws(UsageError) -> (width: Int?, height: Int?) {
        try size(text, of: name, "in columns and lines of the terminal, such as 40x20, 40x or x20")
    }

    private static func size(
        _ text: String, of name: String, _ what: String
    ) throws(UsageError) -> (width: Int?, height: Int?) {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false).map(String.init)
        let sides = parts.map { part in digits(part).flatMap { (1...65_535).contains($0) ? $0 : nil } }
        let isWellFormed =
            parts.count == 2 && !(parts[0].isEmpty && parts[1].isEmpty)
            && zip(parts, sides).allSatisfy { $0.isEmpty || $1 != nil }
        guard isWellFormed else {
            throw UsageError("\(name) takes WIDTHxHEIGHT \(what), not \(text.quoted).")
        }
        return (sides[0], sides[1])
    }

    static func choice<Value>(
        _ text: String, of name: String, _ choices: [(name: String, value: Value)]
    ) throws(UsageError) -> Value {
        for choice in choices where choice.name == text { return choice.value }
        let names = choices.map(\.name)
        let list = names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
        throw UsageError("\(name) takes \(list), not \(text.quoted).")
    }

    /// `#rrggbb`, `rrggbb`, `white` or `black`.
    static func color(_ text: String, of name: String) throws(UsageError) -> [UInt8] {
        switch text {
        case "white": return [255, 255, 255]
        case "black": return [0, 0, 0]
        default: break
        }
        let hexadecimal = text.hasPrefix("#") ? text.dropFirst() : text[...]
        guard hexadecimal.utf8.count == 6, hexadecimal.allSatisfy(\.isHexDigit), hexadecimal.allSatisfy(\.isASCII),
            let number = UInt32(hexadecimal, radix: 16)
        else {
            throw UsageError("\(name) takes a colour such as #ff8000, white or black, not \(text.quoted).")
        }
        return [UInt8(number >> 16), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
    }

    /// `Name: value` (RFC 9110 sections 5.1 and 5.5). The value stays out of the complaint: it may be a secret.
    static func header(_ text: String, of name: String) throws(UsageError) -> (name: String, value: String) {
        guard let colon = text.firstIndex(of: ":") else {
            throw UsageError("\(name) takes a header such as 'Accept: image/webp'; this one has no colon.")
        }
        let field = String(text[..<colon])
        guard !field.isEmpty, field.utf8.allSatisfy(isTokenByte) else {
            throw UsageError("\(name): \(field.quoted) cannot be the name of a header.")
        }
        let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        let trimmed = String(value.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
        guard !trimmed.utf8.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }) else {
            throw UsageError("\(name): the value of \(field.quoted) holds a control character.")
        }
        return (field, trimmed)
    }

    /// A host name or address, with a port where only that one is meant.
    static func host(_ text: String, of name: String) throws(UsageError) -> HostPattern {
        guard let pattern = HostPattern(text) else {
            throw UsageError("\(name) takes a host such as example.org or example.org:8080, not \(text.quoted).")
        }
        return pattern
    }

    static func digits(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return Int(text)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        let letter = byte | 0x20
        return (letter >= 0x61 && letter <= 0x7A) || (byte >= 0x30 && byte <= 0x39)
            || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}

/// Which requests a `--header-for` is meant for.
struct HostPattern: Equatable, Sendable {
    var host: String
    /// `nil`: every port.
    var port: Int?

    init?(_ text: String) {
        guard !text.contains("/"), !text.contains("@"), let url = try? ResourceURL("http://\(text)/"),
            let origin = url.origin
        else { return nil }
        host = origin.host
        let behindAddress = text.lastIndex(of: "]").map { text[text.index(after: $0)...] } ?? text[...]
        port = behindAddress.contains(":") ? origin.port : nil
    }

    func matches(_ origin: Origin) -> Bool {
        origin.host == host && (port == nil || port == origin.port)
    }
}
