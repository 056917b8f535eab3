import Inflight
import InflightTestSupport
import Testing

@Suite("Previews over real sockets", .timeLimit(.minutes(10)))
struct PreviewSocketTests {
    private static func request(_ url: String) -> ImageRequest {
        var request = ImageRequest.patient(url, resize: Resize(width: 100))
        request.previews = ImageRequest.PreviewOptions(interval: .zero)
        return request
    }

    private static func picture(_ format: ImageFormat, progressive: Bool = false) throws -> Bytes {
        var options = EncodeOptions(format: format, quality: format == .png ? nil : 95)
        options.isProgressive = progressive
        return try Pictures.codecs.encode(Pictures.grained(width: 400, height: 300), options: options)
    }

    @Test(
        "Previews arrive while the server holds back the rest of the body, and the image follows",
        arguments: [(ImageFormat.jpeg, true), (.jpeg, false), (.png, false), (.webp, false)], [false, true])
    func heldBack(_ kind: (format: ImageFormat, progressive: Bool), inWorker: Bool) async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let body = try Self.picture(kind.format, progressive: kind.progressive)
        // The first sixth of a progressive image covers all of it coarsely.
        let part = kind.progressive ? body.count / 6 : body.count / 2
        server.serve("/", .ok(body).held("rest", after: part))
        var configuration = ImagePipeline.Configuration()
        configuration.codecs = .standard(inWorker ? .worker : .inProcess)
        let pipeline = try ImagePipeline(configuration: configuration)
        var shown: [ImagePreview] = []
        var image: LoadedImage?
        for await event in pipeline.events(for: Self.request(server.url("/"))) {
            switch event {
            case .preview(let preview):
                #expect(image == nil)
                #expect(preview.detail > shown.last?.detail ?? 0)
                shown.append(preview)
                server.release("rest")
            case .success(let loaded): image = loaded
            case .failure(let error): throw error
            default: break
            }
        }
        let first = try #require(shown.first)
        #expect(first.receivedBytes <= part)
        #expect(first.pixels.width == 100 && first.pixels.height == 75 && first.coversAll == kind.progressive)
        #expect(first.info.storedWidth == 400)
        #expect(image?.width == 100)
        await pipeline.shutdown(.finish)
        #expect(server.requestCount == 1)
    }
}
