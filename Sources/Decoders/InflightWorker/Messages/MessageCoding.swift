package import InflightCore

/// A value in the messages between a program and its decoder, encoded as its parts one after the other.
package protocol MessagePart {
    func write(to message: inout [UInt8])
    /// Decodes the value from the start of the rest of a message.
    init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage)
}

/// A value is missing or invalid.
package struct MalformedMessage: Error {}

/// A complete message.
package protocol DecoderMessage: MessagePart {}

extension DecoderMessage {
    package var message: [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return bytes
    }

    /// Returns `nil` if the message is malformed, truncated, or has trailing bytes.
    package init?(_ message: [UInt8]) {
        var rest = message[...]
        guard let value = try? Self(from: &rest), rest.isEmpty else { return nil }
        self = value
    }
}

extension [UInt8] {
    mutating func add<each Part: MessagePart>(_ parts: repeat each Part) { repeat (each parts).write(to: &self) }
}

extension ArraySlice<UInt8> {
    mutating func take<Part: MessagePart>() throws(MalformedMessage) -> Part { try Part(from: &self) }

    mutating func take(_ count: Int) throws(MalformedMessage) -> ArraySlice {
        guard count >= 0, count <= self.count else { throw MalformedMessage() }
        defer { removeFirst(count) }
        return prefix(count)
    }
}

extension UInt8: MessagePart {
    package func write(to message: inout [UInt8]) { message.append(self) }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) { self = try rest.take(1).first! }
}

extension Bool: MessagePart {
    package func write(to message: inout [UInt8]) { message.append(self ? 1 : 0) }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        let byte = try UInt8(from: &rest)
        guard byte < 2 else { throw MalformedMessage() }
        self = byte == 1
    }
}

/// Eight bytes, little-endian.
extension Int: MessagePart {
    package func write(to message: inout [UInt8]) {
        for shift in stride(from: 0, to: 64, by: 8) { message.append(UInt8(truncatingIfNeeded: self >> shift)) }
    }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        self = try rest.take(8).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}

extension String: MessagePart {
    package func write(to message: inout [UInt8]) { message.add(Array(utf8)) }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        guard let text = String(validating: try [UInt8](from: &rest), as: UTF8.self) else { throw MalformedMessage() }
        self = text
    }
}

extension Optional: MessagePart where Wrapped: MessagePart {
    package func write(to message: inout [UInt8]) {
        message.add(self != nil)
        if let self { self.write(to: &message) }
    }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        self = try Bool(from: &rest) ? try Wrapped(from: &rest) : nil
    }
}

extension Array: MessagePart where Element: MessagePart {
    package func write(to message: inout [UInt8]) {
        message.add(count)
        if let bytes = self as? [UInt8] { return message += bytes }
        for element in self { element.write(to: &message) }
    }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        let count = try Int(from: &rest)
        // Each element takes at least one byte.
        guard count >= 0, count <= rest.count else { throw MalformedMessage() }
        self = []
        if Element.self == UInt8.self {
            self = [UInt8](try rest.take(count)) as? Self ?? []
        } else {
            for _ in 0..<count { append(try rest.take()) }
        }
    }
}

extension MessagePart where Self: RawRepresentable, RawValue: MessagePart {
    package func write(to message: inout [UInt8]) { rawValue.write(to: &message) }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        guard let value = Self(rawValue: try rest.take()) else { throw MalformedMessage() }
        self = value
    }
}

extension ImageFormat: MessagePart {}
extension DecoderConfiguration.Protection: MessagePart {}
extension PixelBuffer.Format.Order: MessagePart {}
extension PixelBuffer.Format.Alpha: MessagePart {}
extension Resize.Fit: MessagePart {}
extension Resize.Gravity: MessagePart {}
extension Resize.Light: MessagePart {}

extension PixelColor: MessagePart {
    package func write(to message: inout [UInt8]) { message.add(red, green, blue, alpha) }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        self.init(red: try rest.take(), green: try rest.take(), blue: try rest.take(), alpha: try rest.take())
    }
}

extension Resize: MessagePart {
    package func write(to message: inout [UInt8]) {
        message.add(width, height, fit, gravity, enlarges, light, keepsSmaller, background)
    }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        self.init(
            width: try rest.take(), height: try rest.take(), fit: try rest.take(), gravity: try rest.take(),
            enlarges: try rest.take(), light: try rest.take(), keepsSmaller: try rest.take(),
            background: try rest.take())
    }
}

extension DecodeOptions: MessagePart {
    package func write(to message: inout [UInt8]) { message.add(resize, order, premultiplied, maximumPixels, page) }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        self.init(resize: try rest.take())
        order = try rest.take()
        premultiplied = try rest.take()
        maximumPixels = try rest.take()
        page = try rest.take()
    }
}

/// Without metadata.
extension EncodeOptions: MessagePart {
    package func write(to message: inout [UInt8]) {
        message.add(format, quality, background, isProgressive, isLossless)
    }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        self.init(format: try rest.take(), quality: try rest.take())
        background = try rest.take()
        isProgressive = try rest.take()
        isLossless = try rest.take()
    }
}
