import InflightCore
import InflightWorker
import Testing

@Suite("Decoder process messages", .timeLimit(.minutes(10)))
struct MessageTests {
    @Test("A ready reply round-trips, including its missing components")
    func ready() {
        for missing in [[], ["av1-encoder", "tiffload_buffer"]] {
            let reply = DecoderReply.ready(
                decodes: [.avif, .heic], encodes: [.avif], protections: [.seccomp, .limits], missing: missing)
            #expect(DecoderReply(reply.message) == reply)
            // A truncated message, or one with trailing bytes, is invalid.
            #expect(DecoderReply(Array(reply.message.dropLast())) == nil)
            #expect(DecoderReply(reply.message + [0]) == nil)
        }
    }

    @Test("Decode and validate requests round-trip, for each resize light")
    func decode() {
        for light in Resize.Light.allCases {
            var options = DecodeOptions(
                resize: Resize(width: 3, fit: .cover, gravity: .interest, enlarges: true, light: light))
            options.order = .bgra
            options.maximumPixels = 99
            options.page = 3
            for options in [options, DecodeOptions()] {
                let request = DecoderRequest.decode(id: 7, format: .tiff, byteCount: 12, options: options)
                #expect(DecoderRequest(request.message) == request)
                #expect(DecoderRequest(Array(request.message.dropLast())) == nil)
                let check = DecoderRequest.validate(id: 8, format: .jpegXL, byteCount: 5)
                #expect(DecoderRequest(check.message) == check && DecoderRequest(check.message + [0]) == nil)
            }
        }
    }

    @Test("Every message round-trips, and no prefix of one is valid")
    func beginnings() {
        let layout = PixelLayout(width: 3, height: 2, bytesPerRow: 12, format: .premultipliedBGRA)
        let replies: [DecoderReply] = [
            .ready(
                decodes: [.png], encodes: [], protections: DecoderConfiguration.Protection.allCases, missing: ["a b"]),
            .notReady(message: "é"), .pixels(id: -1, layout), .encoded(id: .max, byteCount: .min),
            .failure(id: 2, code: "damaged", message: "", libraryText: nil),
            .failure(id: 2, code: "damaged", message: "a", libraryText: "b"),
            .part(id: 3, layout, detail: 4, coversAll: true, isFinal: false), .noPart(id: 5), .valid(id: 6),
        ]
        for reply in replies {
            #expect(DecoderReply(reply.message) == reply)
            for count in 0..<reply.message.count { #expect(DecoderReply([UInt8](reply.message.prefix(count))) == nil) }
        }
        var options = EncodeOptions(format: .webp, quality: 7)
        options.background = [1, 2, 3]
        options.isLossless = true
        let requests: [DecoderRequest] = [
            .begin(maximumMemory: 1, maximumSeconds: 2), .encode(id: 1, layout: layout, options: options),
            .decodePart(id: 2, format: .gif, byteCount: 3, options: DecodeOptions(), beyond: 4), .cancel(id: 9),
        ]
        for request in requests {
            #expect(DecoderRequest(request.message) == request)
            for count in 0..<request.message.count {
                #expect(DecoderRequest([UInt8](request.message.prefix(count))) == nil)
            }
        }
        // The message claims more bytes or names than it holds.
        for count in [Int.max, -1, 2] {
            var message: [UInt8] = [1]
            for shift in 0..<8 { message.append(UInt8(truncatingIfNeeded: count >> (8 * shift))) }
            #expect(DecoderReply(message + [0x41]) == nil)
            message[0] = 0
            #expect(DecoderReply(message + [0x41]) == nil)
        }
    }
}
