import Inflight
import InflightCore

/// The values of one option as given. Each error names the option, the expected values and the given one.
struct OptionValue {
    /// The name of the option.
    let name: String
    let texts: [String]

    init(_ name: String, _ texts: [String]) {
        self.name = name
        self.texts = texts
    }

    /// The first value.
    var text: String { texts[0] }

    /// The second value of an option that takes two.
    var second: OptionValue { OptionValue(name, [texts[1]]) }

    /// Returns the usage error for this value.
    ///
    /// - Parameter expected: The valid values, as in "a whole number from 1 to 100".
    func invalid(_ expected: String) -> UsageError {
        UsageError("Invalid value \(text.quoted) for \(name). Expected \(expected).")
    }

    /// Returns a name that is not empty.
    ///
    /// - Parameter what: The object that the name refers to, for the error, as in "a file".
    func path(_ what: String) throws(UsageError) -> String {
        if text.isEmpty { throw invalid("the name of \(what)") }
        return text
    }

    /// Returns the path of a folder, not a URL: `s3://bucket` would be the folder `s3:`.
    func folder() throws(UsageError) -> String {
        let path = try path("a folder")
        if let scheme = Self.scheme(path) {
            throw UsageError(
                "Unsupported folder \(path.quoted) for \(name): \(scheme) URLs are not supported. Specify a local "
                    + "folder.")
        }
        return path
    }

    /// Returns the scheme of a text that begins as a URL with an authority, such as `s3://`.
    private static func scheme(_ text: String) -> String? {
        let scheme = text.prefix { $0 != ":" }
        let isScheme =
            scheme.first?.isLetter == true
            && scheme.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                    || "+-.".utf8.contains(byte)
            }
        return isScheme && text.dropFirst(scheme.count).hasPrefix("://") ? String(scheme) : nil
    }

    /// Returns the index of a page, from 0, for a page number given from 1.
    func page() throws(UsageError) -> Int { try integer(1...1_000_000) - 1 }

    func integer(_ range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard let number = Self.digits(text), range.contains(number) else {
            let limits =
                range.upperBound == .max
                ? "of \(Quantity.grouped(range.lowerBound)) or more"
                : "from \(range.lowerBound) to \(Quantity.grouped(range.upperBound))"
            throw invalid("a whole number \(limits)")
        }
        return number
    }

    /// Returns a number of bytes, given with an optional unit K, M, G or T: powers of 1024.
    func bytes(_ range: ClosedRange<Int>) throws(UsageError) -> Int {
        let shift = ["K": 10, "M": 20, "G": 30, "T": 40][text.suffix(1).uppercased()]
        let number = Self.digits(shift == nil ? text : String(text.dropLast())) ?? -1
        let (bytes, overflow) = number.multipliedReportingOverflow(by: 1 << (shift ?? 0))
        guard number >= 0, !overflow, range.contains(bytes) else {
            throw invalid(
                "bytes from \(Quantity.grouped(range.lowerBound)) to \(Quantity.grouped(range.upperBound)), such as "
                    + "512M or 8G")
        }
        return bytes
    }

    /// Returns words separated by commas, at least one.
    ///
    /// - Parameter what: A word, for the error, as in "a column".
    func list(_ what: String) throws(UsageError) -> [String] {
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard words.allSatisfy({ !$0.isEmpty }) else { throw invalid("\(what), or several separated by commas") }
        return words
    }

    /// Returns a duration given in seconds, with an optional decimal fraction.
    func seconds() throws(UsageError) -> Duration {
        let plain = text.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || $0 == UInt8(ascii: ".") }
        guard plain, let seconds = Double(text), seconds >= 0.001, seconds <= 1_000_000 else {
            throw invalid("seconds from 0.001 to 1,000,000, such as 30 or 2.5")
        }
        return .milliseconds(Int64((seconds * 1000).rounded()))
    }

    /// One side of an image, or both.
    struct Sides: Equatable, Sendable {
        var width: Int?
        var height: Int?
    }

    /// Returns `WxH`, `Wx` or `xH`, in pixels.
    func size() throws(UsageError) -> Sides {
        try size("in pixels from 1 to 65,535, such as 320x240, 320x or x240")
    }

    /// Returns `WxH`, `Wx` or `xH`, in terminal cells.
    func cells() throws(UsageError) -> Sides {
        try size("in terminal columns and lines from 1 to 65,535, such as 40x20, 40x or x20")
    }

    private func size(_ what: String) throws(UsageError) -> Sides {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false).map(String.init)
        let sides = parts.map { part in Self.digits(part).flatMap { (1...65_535).contains($0) ? $0 : nil } }
        let isWellFormed =
            parts.count == 2 && !(parts[0].isEmpty && parts[1].isEmpty)
            && zip(parts, sides).allSatisfy { $0.isEmpty || $1 != nil }
        guard isWellFormed else { throw invalid("WIDTHxHEIGHT \(what)") }
        return Sides(width: sides[0], height: sides[1])
    }

    func choice<Value>(_ choices: [(name: String, value: Value)]) throws(UsageError) -> Value {
        for choice in choices where choice.name == text { return choice.value }
        throw invalid(choices.map(\.name).joined(last: " or "))
    }

    /// Returns the case of a type with the given name.
    func choice<Value: CaseIterable & RawRepresentable<String>>() throws(UsageError) -> Value {
        try choice(Self.choices())
    }

    /// Returns the cases of a type with their names.
    static func choices<Value: CaseIterable & RawRepresentable<String>>() -> [(name: String, value: Value)] {
        Value.allCases.map { ($0.rawValue, $0) }
    }

    /// Returns an opaque colour, such as `#rrggbb`, `white` or `black`, as red, green and blue.
    func color() throws(UsageError) -> [UInt8] {
        guard let color = PixelColor(text), color.alpha == 255 else {
            throw invalid("a colour, such as #ff8000, white or black")
        }
        return [color.red, color.green, color.blue]
    }

    /// Returns a field given as `Name: value` (RFC 9110 sections 5.1 and 5.5). Errors omit the value: it may be secret.
    func header() throws(UsageError) -> NetworkOptions.Header {
        guard let colon = text.firstIndex(of: ":") else {
            throw UsageError("Invalid value for \(name): no colon. Expected a field, such as 'Accept: image/webp'.")
        }
        let field = String(text[..<colon])
        guard RequestRules.isToken(field.utf8) else {
            throw UsageError("Invalid value for \(name): \(field.quoted) is not a valid field name.")
        }
        let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        let trimmed = String(value.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
        guard RequestRules.isValue(trimmed.utf8) else {
            throw UsageError("Invalid value for \(name): the value of \(field.quoted) contains a control character.")
        }
        return NetworkOptions.Header(name: field, value: trimmed)
    }

    /// Returns a host name or address, with a port if only that port is meant.
    func host() throws(UsageError) -> HostPattern {
        guard let pattern = HostPattern(text) else {
            throw invalid("a host, such as example.org or example.org:8080")
        }
        return pattern
    }

    static func digits(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return Int(text)
    }
}

/// The origins that a `--header-for` field is sent to.
struct HostPattern: Equatable, Sendable {
    var host: String
    /// The port; if `nil`, every port.
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
