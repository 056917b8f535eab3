package import InflightCore

/// What a decoder answers. Nothing of it is believed before it was looked at: who decodes a stranger's bytes may have
/// become a stranger.
package enum DecoderReply: DecoderMessage, Sendable, Equatable {
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

    package func write(to message: inout [UInt8]) {
        switch self {
        case .ready(let decodes, let encodes, let protections, let missing):
            message.add(UInt8(0), decodes, encodes, protections, missing)
        case .notReady(let reason): message.add(UInt8(1), reason)
        case .sharedPixels(let id, let layout): message.add(UInt8(2), id, layout)
        case .pixels(let id, let layout, let bytes): message.add(UInt8(3), id, layout, bytes)
        case .sharedBytes(let id, let byteCount): message.add(UInt8(4), id, byteCount)
        case .failure(let id, let code, let text): message.add(UInt8(5), id, code, String(text.prefix(1000)))
        case .sharedPart(let id, let layout, let detail, let coversAll, let isFinal):
            message.add(UInt8(6), id, layout, detail, coversAll, isFinal)
        case .noPart(let id): message.add(UInt8(7), id)
        case .valid(let id): message.add(UInt8(8), id)
        }
    }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        switch try UInt8(from: &rest) {
        case 0:
            self = .ready(
                decodes: try rest.take(), encodes: try rest.take(), protections: try rest.take(),
                missing: try rest.take())
        case 1: self = .notReady(message: try rest.take())
        case 2: self = .sharedPixels(id: try rest.take(), try rest.take())
        case 3: self = .pixels(id: try rest.take(), try rest.take(), try rest.take())
        case 4: self = .sharedBytes(id: try rest.take(), byteCount: try rest.take())
        case 5: self = .failure(id: try rest.take(), code: try rest.take(), message: try rest.take())
        case 6:
            self = .sharedPart(
                id: try rest.take(), try rest.take(), detail: try rest.take(), coversAll: try rest.take(),
                isFinal: try rest.take())
        case 7: self = .noPart(id: try rest.take())
        case 8: self = .valid(id: try rest.take())
        default: throw MalformedMessage()
        }
    }
}
