/// The header fields of a request or a response, in wire order, duplicates included.
///
/// They are stored as the bytes sent. Names are compared without regard to ASCII case (RFC 9110 section 5.1). One
/// allocation holds all fields. Finding a field takes one step for each field before it.
public struct HTTPFields: Sendable, Hashable {
    /// For each field, the lengths of its name and value in four bytes each, followed by the name and the value.
    private var text: [UInt8] = []
    /// The number of fields, each duplicate included.
    public private(set) var count = 0

    private static let lengthBytes = 8

    private struct Position {
        var name: Int
        var value: Int
        var end: Int
    }

    /// Creates an empty list.
    public init() {}

    /// Creates a list of fields in this order, duplicates included. Nothing is validated.
    public init(_ fields: [(name: String, value: String)]) {
        for field in fields { append(field.name, field.value) }
    }

    /// Whether there are no fields.
    public var isEmpty: Bool { count == 0 }

    /// Appends a field, as UTF-8. Fields with the same name are kept. Neither name nor value is validated here: an
    /// ``ImageRequest`` whose fields are invalid fails with ``LoadError/Code/invalidRequest``.
    public mutating func append(_ name: String, _ value: String) {
        append(name: name.utf8, value: value.utf8)
    }

    /// Appends a field of raw bytes. The caller has removed optional white space around the value. Traps if the name or
    /// the value is 4 GiB or longer.
    public mutating func append(name: some Collection<UInt8>, value: some Collection<UInt8>) {
        unsafe withUnsafeBytes(of: Self.lengths(name.count, value.count)) { unsafe text.append(contentsOf: $0) }
        text.append(contentsOf: name)
        text.append(contentsOf: value)
        count += 1
    }

    /// Reserves memory for the fields of one head: about `lines` fields with about `bytes` bytes of names and values.
    package mutating func reserve(bytes: Int, lines: Int) {
        text.reserveCapacity(bytes + lines * Self.lengthBytes)
    }

    /// Appends a field like ``append(name:value:)``, from contiguous memory, as a transport does for every field.
    package mutating func append(
        rawName name: UnsafeBufferPointer<UInt8>, rawValue value: UnsafeBufferPointer<UInt8>
    ) {
        let lengths = Self.lengths(name.count, value.count)
        let size = Self.lengthBytes + name.count + value.count
        // Append lengths, name and value at once, because one append costs less than three.
        unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { field in
            unsafe field.storeBytes(of: lengths.name, toByteOffset: 0, as: UInt32.self)
            unsafe field.storeBytes(of: lengths.value, toByteOffset: 4, as: UInt32.self)
            let text = unsafe UnsafeMutableRawBufferPointer(rebasing: field[Self.lengthBytes...])
            unsafe text.copyBytes(from: name)
            unsafe UnsafeMutableRawBufferPointer(rebasing: text[name.count...]).copyBytes(from: value)
            unsafe self.text.append(contentsOf: field)
        }
        count += 1
    }

    private static func lengths(_ name: Int, _ value: Int) -> (name: UInt32, value: UInt32) {
        guard let name = UInt32(exactly: name), let value = UInt32(exactly: value) else {
            preconditionFailure("a header field longer than 4 GiB")
        }
        return (name, value)
    }

    /// Replaces all fields with this name by one at the end.
    public mutating func set(_ name: String, _ value: String) {
        remove(name)
        append(name, value)
    }

    /// Removes all fields with this name.
    public mutating func remove(_ name: String) {
        guard var removed = first(name) else { return }
        var kept = HTTPFields()
        forEachPosition { position in
            if position.name == removed.name {
                removed = first(name, from: position.end) ?? removed
            } else {
                kept.append(name: text[position.name..<position.value], value: text[position.value..<position.end])
            }
            return true
        }
        self = kept
    }

    /// The first value with this name. Bytes that are not UTF-8 are decoded as Latin-1.
    ///
    /// Setting a value replaces all fields with this name by one at the end, as ``set(_:_:)`` does. Setting nil removes
    /// them. To send several fields with one name, use ``append(_:_:)``.
    public subscript(name: String) -> String? {
        get { first(name).map { Self.decoded(text[$0.value..<$0.end]) } }
        set {
            if let newValue { set(name, newValue) } else { remove(name) }
        }
    }

    /// Returns all values with this name, in order. Bytes that are not UTF-8 are decoded as Latin-1.
    public func values(_ name: String) -> [String] {
        rawValues(name).map(Self.decoded)
    }

    /// Returns all values with this name, in order, as the bytes sent.
    public func rawValues(_ name: String) -> [ArraySlice<UInt8>] {
        var values: [ArraySlice<UInt8>] = []
        var start = 0
        while let position = first(name, from: start) {
            values.append(text[position.value..<position.end])
            start = position.end
        }
        return values
    }

    /// Returns the first value with this name as a URL reference, whose bytes need not be UTF-8.
    package func reference(_ name: String) -> String? {
        first(name).map { PercentEncoding.text(ofURL: text[$0.value..<$0.end]) }
    }

    /// Returns the fields whose names (in lower case) pass `isKept`, in order.
    package func filtered(_ isKept: (_ name: String) -> Bool) -> HTTPFields {
        var kept = HTTPFields()
        forEachPosition { position in
            let name = text[position.name..<position.value]
            if isKept(Self.decoded(name).lowercased()) {
                kept.append(name: name, value: text[position.value..<position.end])
            }
            return true
        }
        return kept
    }

    /// Returns whether there is a field with this name.
    public func contains(_ name: String) -> Bool { first(name) != nil }

    /// Returns the name of the field at an index, as sent. Bytes that are not UTF-8 are decoded as Latin-1.
    ///
    /// - Parameter index: from 0 to ``count`` - 1; any other value traps. Takes one step for each field before it.
    public func name(_ index: Int) -> String { Self.decoded(rawName(index)) }
    /// Returns the value of the field at an index. Bytes that are not UTF-8 are decoded as Latin-1.
    ///
    /// - Parameter index: from 0 to ``count`` - 1; any other value traps. Takes one step for each field before it.
    public func value(_ index: Int) -> String { Self.decoded(rawValue(index)) }

    /// Returns the name of the field at an index, as the bytes sent.
    ///
    /// - Parameter index: from 0 to ``count`` - 1; any other value traps. Takes one step for each field before it.
    public func rawName(_ index: Int) -> ArraySlice<UInt8> {
        let position = position(index)
        return text[position.name..<position.value]
    }

    /// Returns the value of the field at an index, as the bytes sent.
    ///
    /// - Parameter index: from 0 to ``count`` - 1; any other value traps. Takes one step for each field before it.
    public func rawValue(_ index: Int) -> ArraySlice<UInt8> {
        let position = position(index)
        return text[position.value..<position.end]
    }

    /// The size of the fields in bytes, with `": "` and line ends as in HTTP/1.1.
    public var wireSize: Int { text.count + (4 - Self.lengthBytes) * count }

    // MARK: Walking

    /// Calls `body` for each field in order until it returns false.
    private func forEachPosition(_ body: (Position) -> Bool) {
        var start = 0
        while start < text.count {
            let position = position(at: start)
            guard body(position) else { return }
            start = position.end
        }
    }

    /// Returns the position of the field whose lengths start at `start`.
    private func position(at start: Int) -> Position {
        let (name, value) = unsafe text.withUnsafeBytes { bytes in
            precondition(start + Self.lengthBytes <= bytes.count)
            return unsafe (
                bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self),
                bytes.loadUnaligned(fromByteOffset: start + 4, as: UInt32.self)
            )
        }
        let first = start + Self.lengthBytes
        return Position(name: first, value: first + Int(name), end: first + Int(name) + Int(value))
    }

    private func position(_ index: Int) -> Position {
        precondition(index >= 0 && index < count, "field index \(index) is outside 0 ..< \(count)")
        var position = position(at: 0)
        for _ in 0..<index { position = self.position(at: position.end) }
        return position
    }

    /// Returns the position of the first field with this name, of those from `start`.
    private func first(_ name: String, from start: Int = 0) -> Position? {
        let (bytes, wanted) = (text.span, name.utf8.span)
        var start = start
        while start < bytes.count {
            let position = position(at: start)
            if position.value - position.name == wanted.count {
                var matched = 0
                while matched < wanted.count,
                    bytes[position.name + matched].asciiLowercased == wanted[matched].asciiLowercased
                { matched += 1 }
                if matched == wanted.count { return position }
            }
            start = position.end
        }
        return nil
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
        String(utf8: bytes.span)
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

extension String {
    /// Creates a string from its UTF-8 form, or nil if that is not valid. Twice as fast as `String(validating:as:)`.
    package init?(utf8 bytes: Span<UInt8>) {
        guard let text = try? UTF8Span(validating: bytes) else { return nil }
        self.init(copying: text)
    }
}
