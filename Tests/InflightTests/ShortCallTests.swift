import FoundationEssentials
import Inflight
import InflightTestSupport
import Testing

@Suite("Short calls with `import Inflight`", .timeLimit(.minutes(10)))
struct ShortCallTests {
    @Test("Image data in memory is decoded in one call, in the requested size and format")
    func decoding() throws {
        let whole = try PixelBuffer(decoding: Data(SampleImage.png))
        #expect(whole.width == 8 && whole.height == 6 && whole.format == .rgbx)
        #expect((whole.bytes[0], whole.bytes[1], whole.bytes[2]) == (0, 0, 128))
        var options = DecodeOptions(resize: Resize(width: 4))
        options.order = .bgra
        let small = try PixelBuffer(decoding: Data(SampleImage.png), options: options)
        #expect(small.width == 4 && small.height == 3 && small.format.order == .bgra)
    }

    @Test("Decoding data that is no image, truncated, too large or cancelled throws the reason")
    func decodingErrors() {
        let flag = CancellationFlag()
        flag.cancel()
        var limited = DecodeOptions()
        limited.maximumPixels = 47
        let rows: [(Bytes, DecodeOptions, CancellationFlag, LoadError.Code)] = [
            (SampleImage.page, DecodeOptions(), CancellationFlag(), .notAnImage),
            (Bytes([]), DecodeOptions(), CancellationFlag(), .notAnImage),
            (SampleImage.truncated, DecodeOptions(), CancellationFlag(), .damaged),
            (SampleImage.png, limited, CancellationFlag(), .tooManyPixels),
            (SampleImage.png, DecodeOptions(), flag, .cancelled),
        ]
        for (bytes, options, flag, code) in rows {
            do {
                _ = try PixelBuffer(decoding: Data(bytes), options: options, cancellation: flag)
                Issue.record("no error instead of \(code)")
            } catch let error as any Error {
                #expect(error.loadError?.code == code && error.loadError?.url == nil)
            }
        }
    }

    @Test("Every sample image is decoded, to the same picture")
    func samples() throws {
        for file in [SampleImage.png, SampleImage.jpeg, SampleImage.webp, SampleImage.gif] {
            let pixels = try PixelBuffer(decoding: Data(file)).converted(to: .rgba)
            #expect(pixels.width == 8 && pixels.height == 6)
            let last = pixels.bytesPerRow * 5 + 28
            #expect(abs(Int(pixels.bytes[last]) - 255) < 60 && abs(Int(pixels.bytes[last + 1]) - 255) < 60)
        }
    }

    @Test("An image from the program's pixels needs no header, and is served from memory")
    func loadedImage() async throws {
        let pixels = try PixelBuffer(decoding: Data(SampleImage.png))
        let image = LoadedImage(pixels: pixels, url: "mine://1")
        #expect(image.width == 8 && image.info.width == 8 && !image.info.hasAlpha && image.head.status == 200)
        let pipeline = try ImagePipeline(configuration: .init())
        pipeline.cache["mine://1"] = image
        #expect(try await pipeline.image(for: "mine://1").source == .memory)
        await pipeline.shutdown(.cancel)
    }

    @Test("An error of the engine is found in any error, and other errors give nil")
    func loadError() async {
        let error = await #expect(throws: (any Error).self) {
            try await ImagePipeline.shared.image(for: "nowhere://example")
        }
        #expect(error?.loadError?.code == .unsupportedScheme)
        #expect(CancellationError().loadError == nil)
    }

    @Test("A list of processors mixes those of the library with others, without wrapping them")
    func mixedProcessors() throws {
        let request = ImageRequest("http://a.example/1", processors: [.resize(width: 4), Half(), .grey])
        #expect(request.processors == [.resize(width: 4), ImageProcessor(Half()), .grey])
        #expect(request.processors.map(\.identity)[1] == "half")
        let pixels = try PixelBuffer(decoding: Data(SampleImage.png)).processed(by: [Half(), .flip(.horizontal)])
        #expect(pixels.width == 4 && pixels.bytes[0] > pixels.bytes[12])
        #expect(try Half().process(pixels).width == 2)
    }
}

private struct Half: ImageProcessing {
    let identity = "half"

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        pixels.cropped(width: pixels.width / 2, height: pixels.height, gravity: .topLeft)
    }
}
