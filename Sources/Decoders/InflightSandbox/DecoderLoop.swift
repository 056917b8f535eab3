internal import Glibc
import InflightConcurrency
import InflightCore
import InflightWorker

/// The request loop of a decoder whose sandbox is closed: it has only its sockets and its memory.
struct DecoderLoop {
    private let codecs: CodecRegistry
    private let requests: MessageSocket
    private let watch: ControlListener
    private let allocator = SharedPixels()

    init(codecs: CodecRegistry, requests: MessageSocket, watch: ControlListener) {
        self.codecs = codecs
        self.requests = requests
        self.watch = watch
    }

    func run() -> Never {
        var input: SharedMemory?
        while case .message(let bytes, let descriptor) = requests.receive(upTo: 4096) {
            // A malformed request comes from a program of another version, which this decoder cannot serve.
            guard let request = DecoderRequest(bytes) else { _exit(3) }
            if let descriptor { input = Self.map(descriptor) }
            switch request {
            case .decode(let id, let format, let count, let options):
                answer(id, try decode(part(of: input, count), format, options, watch.begin(id), id))
            case .decodePart(let id, let format, let count, let options, let detail):
                answer(id, try decodePart(part(of: input, count), format, options, detail, watch.begin(id), id))
            case .validate(let id, let format, let count):
                answer(id, try validate(part(of: input, count), format, id))
            case .encode(let id, let layout, let options):
                answer(id, try encode(layout.pixels(part(of: input, layout.byteCount)), options, id))
            case .begin, .cancel: _exit(3)
            }
            if let size = input?.byteCount, size > SharedMemory.maximumRetainedBytes { input = nil }
        }
        _exit(0)
    }

    private static func map(_ descriptor: Descriptor) -> SharedMemory? {
        let size = lseek(descriptor.number, 0, SEEK_END)
        return size > 0 ? SharedMemory(descriptor, byteCount: Int(size)) : nil
    }

    private func part(of input: SharedMemory?, _ count: Int?) throws(LoadError) -> Bytes {
        guard let input, let count, count >= 0, count <= input.byteCount else { throw Self.noInput }
        return input.bytes(count)
    }

    private static var noInput: LoadError {
        LoadError(
            .tooManyPixels, stage: .decode,
            message: "Not enough memory for the image file. Load a smaller file, or raise maximumMemory.")
    }

    private typealias Answer = (reply: DecoderReply, shared: Descriptor?)

    private func answer(_ id: Int, _ work: @autoclosure () throws(LoadError) -> Answer) {
        let answer: Answer
        do throws(LoadError) {
            answer = try work()
        } catch {
            let libraryText = (error.underlying as? LibraryError)?.text
            answer = (
                .failure(id: id, code: error.code.rawValue, message: error.message, libraryText: libraryText), nil
            )
        }
        if !requests.send(answer.reply.message, answer.shared) { _exit(0) }
    }

    private func decode(
        _ bytes: Bytes, _ format: ImageFormat, _ options: DecodeOptions, _ cancellation: CancellationFlag, _ id: Int
    ) throws(LoadError) -> Answer {
        let codec = try codec(format)
        let pixels = try PixelAllocation.with(allocator) { () throws(LoadError) in
            try codec.decode(bytes, format: format, options: options, cancellation: cancellation)
        }
        let layout = PixelLayout(pixels)
        guard let count = layout.byteCount else { throw CodecError.outOfMemory }
        return (.pixels(id: id, layout), try allocator.pass(pixels.bytes.part(0..<count)))
    }

    private func validate(_ bytes: Bytes, _ format: ImageFormat, _ id: Int) throws(LoadError) -> Answer {
        try codec(format).validate(bytes, format: format)
        return (.valid(id: id), nil)
    }

    private func codec(_ format: ImageFormat) throws(LoadError) -> any ImageCodec {
        guard let codec = codecs.decoder(of: format) else {
            throw CodecError.unsupported(format, "its decoder is not installed")
        }
        return codec
    }

    private func decodePart(
        _ bytes: Bytes, _ format: ImageFormat, _ options: DecodeOptions, _ detail: Int,
        _ cancellation: CancellationFlag, _ id: Int
    ) throws(LoadError) -> Answer {
        let codec = try codec(format)
        let part = try PixelAllocation.with(allocator) { () throws(LoadError) in
            try codec.decodePart(bytes, format: format, options: options, beyond: detail, cancellation: cancellation)
        }
        guard let part, part.detail > detail else { return (.noPart(id: id), nil) }
        let layout = PixelLayout(part.pixels)
        guard let count = layout.byteCount else { throw CodecError.outOfMemory }
        let reply = DecoderReply.part(
            id: id, layout, detail: part.detail, coversAll: part.coversAll, isFinal: part.isFinal)
        return (reply, try allocator.pass(part.pixels.bytes.part(0..<count)))
    }

    private func encode(
        _ pixels: PixelBuffer, _ options: EncodeOptions, _ id: Int
    ) throws(LoadError) -> Answer {
        let bytes = try codecs.encode(pixels, options: options)
        return (.encoded(id: id, byteCount: bytes.count), try allocator.pass(bytes))
    }
}
