import InflightCore
import InflightWorker
import Testing

@Suite("Messages between a program and its decoder", .timeLimit(.minutes(10)))
struct MessageTests {
    @Test("A decoder's first answer is read as it was written, the parts that it lacks among it")
    func ready() {
        for missing in [[], ["av1-encoder", "tiffload_buffer"]] {
            let reply = DecoderReply.ready(
                decodes: [.avif, .heic], encodes: [.avif], protections: [.seccomp, .limits], missing: missing)
            #expect(DecoderReply(reply.message) == reply)
            // What is cut short, or goes on, is no message.
            #expect(DecoderReply(Array(reply.message.dropLast())) == nil)
            #expect(DecoderReply(reply.message + [0]) == nil)
        }
    }

    @Test("What is asked of a decoder is read as it was written, the light among it")
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
}
