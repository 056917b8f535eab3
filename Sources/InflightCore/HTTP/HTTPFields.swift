/// The fields of a request or an answer, in the order of the wire, doubled ones included.
///
/// They are kept as the bytes that were sent; names are compared without regard to ASCII case (RFC 9110 section 5.1).
/// One allocation holds all bytes, another all positions, however many fields there are.
public struct HTTPFields: Sendable, Hashable {
    /// Name and value of every field, one after the other.
    private var text: [UInt8] = []
    private var positions: [Position] = []

    private struct Position: Hashable {
        var name: UInt32
        var value: UInt32
        var end: UInt32
    }

    public init() {}

    public init(_ fields: [(name: String, value: String)]) {
        for field in fields { append(field.name, field.value) }
    }

    public var count: Int { positions.count }
    public var isEmpty: Bool { positions.isEmpty }

    /// Adds a field behind the others.
    public mutating func append(_ name: String, _ value: String) {
        append(name: name.utf8, value: value.utf8)
    }

    /// Adds a field of raw bytes behind the others. The caller has taken optional white space off the value.
    public mutating func append(name: some Collection<UInt8>, value: some Collection<UInt8>) {
        let start = UInt32(text.count)
        text.append(contentsOf: name)
        let middle = UInt32(text.count)
        text.append(contentsOf: value)
        positions.append(Position(name: start, value: middle, end: UInt32(text.count)))
    }

    /// Makes room for the fields of one head, whose lines take `bytes` in all.
    package mutating func reserve(bytes: Int, count: Int) {
        text.reserveCapacity(bytes)
        positions.reserveCapacity(count)
    }

    /// ``append(name:value:)`` for bytes that lie in memory as they are: what a transport does for every field.
    package mutating func append(
        rawName name: UnsafeBufferPointer<UInt8>, rawValue value: UnsafeBufferPointer<UInt8>
    ) {
        let start = UInt32(text.count)
        unsafe text.append(contentsOf: name)
        let middle = UInt32(text.count)
        unsafe text.append(contentsOf: value)
        positions.append(Position(name: start, value: middle, end: UInt32(text.count)))
    }

    /// Replaces all fields of that name by one.
    public mutating func set(_ name: String, _ value: String) {
        remove(name)
        append(name, value)
    }

    /// Takes out all fields of that name.
    public mutating func remove(_ name: String) {
        guard contains(name) else { return }
        var kept = HTTPFields()
        for index in 0..<count where !isNamed(index, name) {
            kept.append(name: rawName(index), value: rawValue(index))
        }
        self = kept
    }

    /// The first value of that name. Bytes that are not UTF-8 are read as Latin-1.
    public subscript(name: String) -> String? {
        for index in 0..<count where isNamed(index, name) { return value(index) }
        return nil
    }

    /// All values of that name, in order.
    public func values(_ name: String) -> [String] {
        (0..<count).filter { isNamed($0, name) }.map { value($0) }
    }

    public func contains(_ name: String) -> Bool {
        (0..<count).contains { isNamed($0, name) }
    }

    public func name(_ index: Int) -> String { Self.decoded(rawName(index)) }
    public func value(_ index: Int) -> String { Self.decoded(rawValue(index)) }

    public func rawName(_ index: Int) -> ArraySlice<UInt8> {
        text[Int(positions[index].name)..<Int(positions[index].value)]
    }

    public func rawValue(_ index: Int) -> ArraySlice<UInt8> {
        text[Int(positions[index].value)..<Int(positions[index].end)]
    }

    /// How many bytes the fields take, with `": "` and line ends as HTTP/1.1 writes them.
    public var wireSize: Int { text.count + 4 * positions.count }

    private func isNamed(_ index: Int, _ name: String) -> Bool {
        let own = rawName(index)
        let wanted = name.utf8
        guard own.count == wanted.count else { return false }
        return zip(own, wanted).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
        String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}

extension HTTPFields: CustomStringConvertible {
    public var description: String {
        (0..<count).map { "\(name($0)): \(value($0))" }.joined(separator: "\n")
    }
}

extension UInt8 {
    @inlinable
    package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}
