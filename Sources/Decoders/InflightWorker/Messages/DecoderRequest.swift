package import InflightCore

/// A program's request to its decoder. The bytes that it concerns are in shared memory.
package enum DecoderRequest: DecoderMessage, Sendable, Equatable {
    /// The first message. It limits the memory, in bytes beyond the initial amount, and the CPU time.
    case begin(maximumMemory: Int, maximumSeconds: Int)
    case decode(id: Int, format: ImageFormat, byteCount: Int, options: DecodeOptions)
    /// Decode a partial image with more detail than `beyond`.
    case decodePart(id: Int, format: ImageFormat, byteCount: Int, options: DecodeOptions, beyond: Int)
    /// Check whether a file is complete and valid.
    case validate(id: Int, format: ImageFormat, byteCount: Int)
    case encode(id: Int, layout: PixelLayout, options: EncodeOptions)
    /// Cancel the decode, which may then fail. Sent on the second socket.
    case cancel(id: Int)

    package func write(to message: inout [UInt8]) {
        switch self {
        case .begin(let maximumMemory, let maximumSeconds): message.add(UInt8(0), maximumMemory, maximumSeconds)
        case .decode(let id, let format, let byteCount, let options):
            message.add(UInt8(1), id, format, byteCount, options)
        case .encode(let id, let layout, let options): message.add(UInt8(2), id, layout, options)
        case .cancel(let id): message.add(UInt8(3), id)
        case .decodePart(let id, let format, let byteCount, let options, let detail):
            message.add(UInt8(4), id, format, byteCount, options, detail)
        case .validate(let id, let format, let byteCount): message.add(UInt8(5), id, format, byteCount)
        }
    }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        switch try UInt8(from: &rest) {
        case 0: self = .begin(maximumMemory: try rest.take(), maximumSeconds: try rest.take())
        case 1:
            self = .decode(
                id: try rest.take(), format: try rest.take(), byteCount: try rest.take(), options: try rest.take())
        case 2: self = .encode(id: try rest.take(), layout: try rest.take(), options: try rest.take())
        case 3: self = .cancel(id: try rest.take())
        case 4:
            self = .decodePart(
                id: try rest.take(), format: try rest.take(), byteCount: try rest.take(), options: try rest.take(),
                beyond: try rest.take())
        case 5: self = .validate(id: try rest.take(), format: try rest.take(), byteCount: try rest.take())
        default: throw MalformedMessage()
        }
    }
}
