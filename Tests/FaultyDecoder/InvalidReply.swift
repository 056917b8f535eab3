import Glibc
import InflightCore
import InflightWorker

/// An invalid reply, sent past the service that would send the valid one.
struct InvalidReply {
    private let number: Int
    /// The service's own socket. It is closed twice, which has no effect because this code never returns.
    private let socket = MessageSocket(Descriptor(3))

    init(_ number: Int) {
        self.number = number
    }

    /// The number of lies.
    static let count = 15

    func send() throws(LoadError) {
        // More than fits the decoder's output, so in memory of their own.
        let layout = PixelLayout(width: 1000, height: 1000, bytesPerRow: 4000, format: .rgba)
        let small = PixelLayout(width: 100, height: 100, bytesPerRow: 400, format: .rgba)
        func sealed(_ count: Int) -> Descriptor? { SharedPixels().seal(Bytes([UInt8](repeating: 1, count: count))) }
        func open(_ count: Int) -> Descriptor? { SharedMemory(byteCount: count)?.descriptor }
        var reply = DecoderReply.pixels(id: 1, layout)
        var shared: Descriptor?
        var raw: [UInt8]?
        switch number {
        // No memory; too little; memory that can still be changed; a descriptor that is not memory.
        case 0: break
        case 1: shared = sealed(3_999_999)
        case 2: shared = open(4_000_000)
        case 3: shared = Descriptor(1)
        // Sizes that overflow, that exceed the limit, or that do not fit.
        case 4:
            reply = .pixels(id: 1, PixelLayout(width: .max, height: 2, bytesPerRow: .max, format: .rgba))
            shared = sealed(4_000_000)
        case 5:
            reply = .pixels(id: 1, PixelLayout(width: 1 << 20, height: 1 << 20, bytesPerRow: 1 << 22, format: .rgba))
            shared = sealed(4_000_000)
        case 6:
            reply = .encoded(id: 1, byteCount: 4_000_000)
            shared = sealed(4_000_000)
        case 7:
            reply = .pixels(id: 1, PixelLayout(width: -1, height: 5, bytesPerRow: 400, format: .rgba))
            shared = open(SharedMemory.outputBytes)
        // A format that was not requested; a reply to another request; not a reply; not a message.
        case 8:
            reply = .pixels(
                id: 1, PixelLayout(width: 1000, height: 1000, bytesPerRow: 4000, format: .premultipliedBGRA))
            shared = sealed(4_000_000)
        case 9:
            reply = .pixels(id: 17, layout)
            shared = sealed(4_000_000)
        case 10: raw = [0xFF, 1, 2]
        // No output; an output that is too small; a descriptor that is not memory.
        case 11: reply = .pixels(id: 1, small)
        case 12:
            reply = .pixels(id: 1, small)
            shared = open(SharedMemory.outputBytes - 1)
        case 13:
            reply = .pixels(id: 1, small)
            shared = Descriptor(1)
        default: raw = [UInt8](repeating: 3, count: 60_000)
        }
        guard socket.send(raw ?? reply.message, shared) else { throw CodecError.cancelled }
        while true { pause() }
    }
}
