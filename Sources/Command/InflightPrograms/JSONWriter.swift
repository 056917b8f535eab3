/// Writes JSON (RFC 8259) in UTF-8, without white space, so that a value is one line.
///
/// Members are added to the current object, which at first is the whole value, in the order of the calls; elements are
/// appended to the current array.
package struct JSONWriter {
    /// The characters of text that are escaped. `"` and `\` always are.
    package enum Escapes: Sendable {
        /// Control characters, as JSON requires it: for files and programs.
        case required
        /// Also other characters that a terminal might interpret, so that a line is safe to display.
        case displayed
    }

    /// The members so far, without the braces.
    package private(set) var members: [UInt8] = []
    private let escapes: Escapes
    private var needsComma = false

    package init(_ escapes: Escapes = .displayed) {
        self.escapes = escapes
    }

    /// The complete object.
    package var object: [UInt8] { [UInt8(ascii: "{")] + members + [UInt8(ascii: "}")] }

    /// The complete object, and a line feed.
    package var line: [UInt8] { object + [UInt8(ascii: "\n")] }

    /// Returns text as a value of its own.
    package static func value(_ text: String, _ escapes: Escapes = .displayed) -> [UInt8] {
        var writer = JSONWriter(escapes)
        writer.append(text)
        return writer.members
    }

    /// Returns an array of text as a value of its own.
    package static func value(_ texts: [String]) -> [UInt8] {
        var writer = JSONWriter()
        writer.write(texts)
        return writer.members
    }

    // MARK: Members

    package mutating func add(_ name: String, _ value: String) {
        begin(name)
        write(value)
    }

    /// Adds text in which no character needs an escape, such as base64 digits.
    package mutating func add(_ name: String, plain text: [UInt8]) {
        begin(name)
        members.append(UInt8(ascii: "\""))
        members += text
        members.append(UInt8(ascii: "\""))
    }

    package mutating func add(_ name: String, _ value: some BinaryInteger) {
        begin(name)
        members += String(value).utf8
    }

    /// - Precondition: The value is finite, because JSON has no other numbers.
    package mutating func add(_ name: String, _ value: Double) {
        begin(name)
        members += String(value).utf8
    }

    package mutating func add(_ name: String, _ value: Bool) {
        begin(name)
        members += (value ? "true" : "false").utf8
    }

    /// Adds text, or `null`.
    package mutating func add(_ name: String, orNull value: String?) {
        if let value { add(name, value) } else { addNull(name) }
    }

    /// Adds a number, or `null`.
    package mutating func add(_ name: String, orNull value: (some BinaryInteger)?) {
        if let value { add(name, value) } else { addNull(name) }
    }

    package mutating func addNull(_ name: String) {
        begin(name)
        members += "null".utf8
    }

    /// Adds a value that is JSON already. Control characters become spaces, because valid JSON has them only as white
    /// space between tokens, and a line feed would end the line.
    package mutating func add(_ name: String, json: [UInt8]) {
        begin(name)
        for byte in json { members.append(byte < 0x20 ? 0x20 : byte) }
    }

    /// Adds an object.
    package mutating func add(_ name: String, _ build: (inout JSONWriter) -> Void) {
        begin(name)
        write(between: "{", "}", build)
    }

    /// Adds an array of objects.
    package mutating func add<Element>(
        _ name: String, _ elements: some Sequence<Element>, _ build: (inout JSONWriter, Element) -> Void
    ) {
        begin(name)
        write(between: "[", "]") { array in
            for element in elements {
                array.separate()
                array.write(between: "{", "}") { build(&$0, element) }
            }
        }
    }

    /// Adds an array of arrays.
    package mutating func add<Element>(
        _ name: String, rows: some Sequence<Element>, _ build: (inout JSONWriter, Element) -> Void
    ) {
        begin(name)
        write(between: "[", "]") { array in
            for row in rows {
                array.separate()
                array.write(between: "[", "]") { build(&$0, row) }
            }
        }
    }

    package mutating func add(_ name: String, _ texts: [String]) {
        begin(name)
        write(texts)
    }

    /// Adds members that another writer has written.
    package mutating func add(members more: [UInt8]) {
        guard !more.isEmpty else { return }
        separate()
        members += more
    }

    // MARK: Elements

    package mutating func append(_ value: String) {
        separate()
        write(value)
    }

    package mutating func append(_ value: some BinaryInteger) {
        separate()
        members += String(value).utf8
    }

    // MARK: Bytes

    private mutating func separate() {
        if needsComma { members.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func begin(_ name: String) {
        separate()
        write(name)
        members.append(UInt8(ascii: ":"))
    }

    private mutating func write(
        between opening: Unicode.Scalar, _ closing: Unicode.Scalar, _ build: (inout JSONWriter) -> Void
    ) {
        members.append(UInt8(ascii: opening))
        needsComma = false
        build(&self)
        members.append(UInt8(ascii: closing))
        needsComma = true
    }

    private mutating func write(_ texts: [String]) {
        write(between: "[", "]") { array in
            for text in texts { array.append(text) }
        }
    }

    private mutating func write(_ text: String) {
        members.append(UInt8(ascii: "\""))
        // Of ASCII, DEL alone is interpreted by terminals but allowed in JSON.
        if escapes == .displayed, text.utf8.contains(where: { $0 >= 0x7F }) {
            for scalar in text.unicodeScalars {
                if scalar.value >= 0x7F, TerminalText.isUnsafe(scalar) {
                    for unit in UTF16.encode(scalar)! { writeEscape(unit) }
                } else {
                    for byte in UTF8.encode(scalar)! { write(byte) }
                }
            }
        } else {
            for byte in text.utf8 { write(byte) }
        }
        members.append(UInt8(ascii: "\""))
    }

    /// Writes a byte of text.
    private mutating func write(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): members += [UInt8(ascii: "\\"), byte]
        case UInt8(ascii: "\n"): members += "\\n".utf8
        case UInt8(ascii: "\r"): members += "\\r".utf8
        case UInt8(ascii: "\t"): members += "\\t".utf8
        case 0..<0x20: writeEscape(UInt16(byte))
        default: members.append(byte)
        }
    }

    private mutating func writeEscape(_ unit: UInt16) {
        members += "\\u".utf8
        for shift in [12, 8, 4, 0] {
            let digit = UInt8(unit >> UInt16(shift) & 15)
            members.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
    }
}
