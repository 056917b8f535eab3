package import InflightCore

/// A decoder's reply. It is validated before use, because a process that decodes untrusted input may be compromised.
package enum DecoderReply: DecoderMessage, Sendable, Equatable {
    /// The sandbox is closed. The decoder reads and writes these formats, and some components are missing.
    case ready(
        decodes: [ImageFormat], encodes: [ImageFormat], protections: [DecoderConfiguration.Protection],
        missing: [String])
    /// The decoder could not start.
    case notReady(message: String)
    /// The pixels, in sealed memory that is passed with the message.
    case sharedPixels(id: Int, PixelLayout)
    /// Few pixels, in the message itself.
    case pixels(id: Int, PixelLayout, [UInt8])
    /// The encoded file, in sealed memory that is passed with the message.
    case sharedBytes(id: Int, byteCount: Int)
    /// A partial image, in sealed memory that is passed with the message.
    case sharedPart(id: Int, PixelLayout, detail: Int, coversAll: Bool, isFinal: Bool)
    /// The partial image has no more detail than the program already has.
    case noPart(id: Int)
    /// The file is complete and valid.
    case valid(id: Int)
    case failure(id: Int, code: String, message: String)

    /// The size in bytes from which pixels are passed in shared memory of their own. A program that retains 10⁹ bytes
    /// of pixels then has at most about 30,000 mappings, about half of Linux's limit.
    package static let minimumSharedBytes = 32 * 1024
    /// The maximum length of a message in bytes.
    package static let maximumBytes = minimumSharedBytes + 4096

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
