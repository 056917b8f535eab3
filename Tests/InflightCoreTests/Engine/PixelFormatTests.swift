import InflightCore
import InflightTestSupport
import Testing

@Suite("Pixel formats of loaded images")
struct PixelFormatTests {
    @Test("The image has the requested pixel format whatever its processors return")
    func asked() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        var request = ImageRequest(Stage.url)
        request.pixelOrder = .bgra
        request.premultipliesAlpha = true
        request.processors = [
            .circle(),
            .custom("other form") { _ in
                PixelBuffer.init(width: 1, height: 1, bytesPerRow: 4, format: .rgba, bytes: Bytes([200, 100, 50, 51]))
            },
        ]
        let image = try await stage.pipeline.image(for: request)
        #expect(image.pixels.format == .premultipliedBGRA)
        #expect(image.pixels.bytes.array == [10, 20, 40, 51])
    }
}
