package import InflightCore

/// What a decoder answers. Nothing of it is believed before it was looked at: who decodes a stranger's bytes may have
/// become a stranger.
package enum DecoderReply: Sendable, Equatable {
    /// It has given up what it does not need, and reads and writes these formats; some parts are missing.
    case ready(decodes: [ImageFormat], encodes: [ImageFormat], protections: [DecoderProtection], missing: [String])
    /// It could not begin.
    case notReady(message: String)
    /// In sealed memory that comes with it.
    case sharedPixels(id: Int, PixelLayout)
    /// In the message: few.
    case pixels(id: Int, PixelLayout, [UInt8])
    /// In sealed memory that comes with it.
    case sharedBytes(id: Int, byteCount: Int)
    /// What there is of a picture, in sealed memory that comes with it.
    case sharedPart(id: Int, PixelLayout, detail: Int, coversAll: Bool, isFinal: Bool)
    /// There is nothing more of it than was seen.
    case noPart(id: Int)
    /// The file is whole.
    case valid(id: Int)
    case failure(id: Int, code: String, message: String)

    /// Pixels of so many bytes or more are handed over in memory of their own. A program that keeps a thousand million
    /// bytes of them then has some thirty thousand such pieces, about half of what Linux lets it have.
    package static let leastShared = 32 * 1024
    /// No message is longer.
    package static let mostBytes = leastShared + 4096

    package var message: [UInt8] {
        var writer = MessageWriter()
        switch self {
        case .ready(let decodes, let encodes, let protections, let missing):
            writer.write(UInt8(0))
            for names in [decodes.map(\.rawValue), encodes.map(\.rawValue), protections.map(\.rawValue), missing] {
                writer.write(names.joined(separator: " "))
            }
        case .notReady(let message):
            writer.write(UInt8(1))
            writer.write(message)
        case .sharedPixels(let id, let layout):
            writer.write(UInt8(2))
            writer.write(id)
            writer.write(layout)
        case .pixels(let id, let layout, let bytes):
            writer.write(UInt8(3))
            writer.write(id)
            writer.write(layout)
            writer.write(bytes)
        case .sharedBytes(let id, let byteCount):
            writer.write(UInt8(4))
            writer.write(id)
            writer.write(byteCount)
        case .failure(let id, let code, let message):
            writer.write(UInt8(5))
            writer.write(id)
            writer.write(code)
            writer.write(String(message.prefix(1000)))
        case .sharedPart(let id, let layout, let detail, let coversAll, let isFinal):
            writer.write(UInt8(6))
            writer.write(id)
            writer.write(layout)
            writer.write(detail)
            writer.write(coversAll)
            writer.write(isFinal)
        case .noPart(let id):
            writer.write(UInt8(7))
            writer.write(id)
        case .valid(let id):
            writer.write(UInt8(8))
            writer.write(id)
        }
        return writer.bytes
    }

    package init?(_ message: [UInt8]) {
        var reader = MessageReader(message)
        guard let reply = Self.read(&reader), reader.isAtEnd else { return nil }
        self = reply
    }

    private static func read(_ reader: inout MessageReader) -> DecoderReply? {
        switch reader.byte() {
        case 0:
            guard let decodes = reader.names(), let encodes = reader.names(), let protections = reader.names(),
                let missing = reader.names()
            else { return nil }
            return .ready(
                decodes: decodes.map(ImageFormat.init(rawValue:)), encodes: encodes.map(ImageFormat.init(rawValue:)),
                protections: protections.compactMap(DecoderProtection.init), missing: missing)
        case 1: return reader.text().map { .notReady(message: $0) }
        case 2:
            guard let id = reader.number(), let layout = reader.layout() else { return nil }
            return .sharedPixels(id: id, layout)
        case 3:
            guard let id = reader.number(), let layout = reader.layout(), let bytes = reader.part() else { return nil }
            return .pixels(id: id, layout, bytes)
        case 4:
            guard let id = reader.number(), let count = reader.number() else { return nil }
            return .sharedBytes(id: id, byteCount: count)
        case 5:
            guard let id = reader.number(), let code = reader.text(), let message = reader.text() else { return nil }
            return .failure(id: id, code: code, message: message)
        case 6:
            guard let id = reader.number(), let layout = reader.layout(), let detail = reader.number(),
                let coversAll = reader.flag(), let isFinal = reader.flag()
            else { return nil }
            return .sharedPart(id: id, layout, detail: detail, coversAll: coversAll, isFinal: isFinal)
        case 7: return reader.number().map { .noPart(id: $0) }
        case 8: return reader.number().map { .valid(id: $0) }
        default: return nil
        }
    }
}
