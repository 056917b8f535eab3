package import InflightCore

/// A decoder's reply. It is validated before use, because a process that decodes untrusted input may be compromised.
package enum DecoderReply: DecoderMessage, Sendable, Equatable {
    /// The sandbox is closed. The decoder reads and writes these formats, and some components are missing.
    case ready(
        decodes: [ImageFormat], encodes: [ImageFormat], protections: [DecoderConfiguration.Protection],
        missing: [String])
    /// The decoder could not start.
    case notReady(message: String)
    /// The pixels, in shared memory: see ``SharedMemory/outputBytes``.
    case pixels(id: Int, PixelLayout)
    /// The encoded file, in shared memory.
    case encoded(id: Int, byteCount: Int)
    /// A partial image, in shared memory.
    case part(id: Int, PixelLayout, detail: Int, coversAll: Bool, isFinal: Bool)
    /// The partial image has no more detail than the program already has.
    case noPart(id: Int)
    /// The file is complete and valid.
    case valid(id: Int)
    /// The text of the library that failed, if one did, becomes the underlying error.
    case failure(id: Int, code: String, message: String, libraryText: String?)

    /// The maximum length of a message in bytes.
    package static let maximumBytes = 16 * 1024

    package func write(to message: inout [UInt8]) {
        switch self {
        case .ready(let decodes, let encodes, let protections, let missing):
            message.add(UInt8(0), decodes, encodes, protections, missing)
        case .notReady(let reason): message.add(UInt8(1), reason)
        case .pixels(let id, let layout): message.add(UInt8(2), id, layout)
        case .encoded(let id, let byteCount): message.add(UInt8(3), id, byteCount)
        case .failure(let id, let code, let text, let libraryText):
            message.add(UInt8(4), id, code, String(text.prefix(1000)), libraryText.map { String($0.prefix(1000)) })
        case .part(let id, let layout, let detail, let coversAll, let isFinal):
            message.add(UInt8(5), id, layout, detail, coversAll, isFinal)
        case .noPart(let id): message.add(UInt8(6), id)
        case .valid(let id): message.add(UInt8(7), id)
        }
    }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        switch try UInt8(from: &rest) {
        case 0:
            self = .ready(
                decodes: try rest.take(), encodes: try rest.take(), protections: try rest.take(),
                missing: try rest.take())
        case 1: self = .notReady(message: try rest.take())
        case 2: self = .pixels(id: try rest.take(), try rest.take())
        case 3: self = .encoded(id: try rest.take(), byteCount: try rest.take())
        case 4:
            self = .failure(
                id: try rest.take(), code: try rest.take(), message: try rest.take(), libraryText: try rest.take())
        case 5:
            self = .part(
                id: try rest.take(), try rest.take(), detail: try rest.take(), coversAll: try rest.take(),
                isFinal: try rest.take())
        case 6: self = .noPart(id: try rest.take())
        case 7: self = .valid(id: try rest.take())
        default: throw MalformedMessage()
        }
    }
}
