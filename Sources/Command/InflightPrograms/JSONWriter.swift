/// Writes one JSON object as a line of UTF-8 (RFC 8259), with its members in the order in which they are added.
///
/// Control characters, and others that a terminal might interpret, are escaped, so that a line is safe to display.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// The members, without the braces.
    package var members: [UInt8] { bytes }

    /// The complete object.
    package var object: [UInt8] { [UInt8(ascii: "{")] + bytes + [UInt8(ascii: "}")] }

    /// The complete object, and a line feed.
    package var line: [UInt8] { object + [UInt8(ascii: "\n")] }

    package mutating func add(_ name: String, _ value: String) {
        begin(name)
        Self.append(value, to: &bytes)
    }

    /// Adds text in which no character needs an escape, such as base64 digits.
    package mutating func add(_ name: String, plain text: [UInt8]) {
        begin(name)
        bytes.append(UInt8(ascii: "\""))
        bytes += text
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func add(_ name: String, _ value: some BinaryInteger) {
        begin(name)
        bytes += String(value).utf8
    }

    /// - Precondition: The value is finite, because JSON has no other numbers.
    package mutating func add(_ name: String, _ value: Double) {
        begin(name)
        bytes += String(value).utf8
    }

    package mutating func add(_ name: String, _ value: Bool) {
        begin(name)
        bytes += (value ? "true" : "false").utf8
    }

    package mutating func add(_ name: String, _ build: (inout JSONWriter) -> Void) {
        begin(name)
        var inner = JSONWriter()
        build(&inner)
        bytes += inner.object
    }

    /// Adds an array of objects.
    package mutating func add<Element>(
        _ name: String, _ elements: some Sequence<Element>, _ build: (inout JSONWriter, Element) -> Void
    ) {
        addArray(name, elements) { bytes, element in
            var inner = JSONWriter()
            build(&inner, element)
            bytes += inner.object
        }
    }

    package mutating func add(_ name: String, _ texts: [String]) {
        addArray(name, texts) { Self.append($1, to: &$0) }
    }

    /// Adds an array of arrays of text.
    package mutating func add(_ name: String, _ rows: [[String]]) {
        addArray(name, rows) { bytes, row in Self.appendArray(row, to: &bytes) { Self.append($1, to: &$0) } }
    }

    private mutating func addArray<Element>(
        _ name: String, _ elements: some Sequence<Element>, _ append: (inout [UInt8], Element) -> Void
    ) {
        begin(name)
        Self.appendArray(elements, to: &bytes, append)
    }

    private static func appendArray<Element>(
        _ elements: some Sequence<Element>, to bytes: inout [UInt8], _ append: (inout [UInt8], Element) -> Void
    ) {
        bytes.append(UInt8(ascii: "["))
        for (number, element) in elements.enumerated() {
            if number > 0 { bytes.append(UInt8(ascii: ",")) }
            append(&bytes, element)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Adds members that another writer has written.
    package mutating func add(members: [UInt8]) {
        guard !members.isEmpty else { return }
        if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
        bytes += members
    }

    private mutating func begin(_ name: String) {
        if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
        Self.append(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Appends an array of text.
    package static func append(_ texts: [String], to bytes: inout [UInt8]) {
        appendArray(texts, to: &bytes) { append($1, to: &$0) }
    }

    package static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": bytes += "\\\"".utf8
            case "\\": bytes += "\\\\".utf8
            case "\n": bytes += "\\n".utf8
            case "\r": bytes += "\\r".utf8
            case "\t": bytes += "\\t".utf8
            default:
                if TerminalText.isUnsafe(scalar) {
                    for unit in UTF16.encode(scalar)! { appendEscape(unit, to: &bytes) }
                } else {
                    bytes += UTF8.encode(scalar)!
                }
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func appendEscape(_ unit: UInt16, to bytes: inout [UInt8]) {
        bytes += "\\u".utf8
        for shift in [12, 8, 4, 0] {
            let digit = UInt8(unit >> UInt16(shift) & 15)
            bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
    }
}
