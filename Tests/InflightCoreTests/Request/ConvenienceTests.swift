import Dispatch
import FoundationEssentials
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Requests in short form", .timeLimit(.minutes(10)))
struct ConvenienceTests {
    @Test("A string literal is a request for its URL, with defaults")
    func literal() {
        let request: ImageRequest = "http://a.example/1"
        let path = "2"
        let other: ImageRequest = "http://a.example/\(path)"
        #expect(request.url == "http://a.example/1" && request.resize == nil && request.priority == .normal)
        #expect(request == ImageRequest("http://a.example/1"))
        #expect(other.url == "http://a.example/2")
    }

    @Test("An image and its bytes can be loaded by a URL, in text form or not")
    func urls() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let url = try #require(URL(string: Stage.url))
        #expect(try await stage.pipeline.image(for: Stage.url).width == 4)
        #expect(try await stage.pipeline.image(for: url).source == .memory)
        #expect(try await stage.pipeline.image(for: "http://a.example/1").source == .memory)
        #expect(try await stage.pipeline.data(for: Stage.url) == Data(FakeCodec.picture()))
        #expect(try await stage.pipeline.data(for: url).count == 10)
    }

    @Test("Callbacks run on a dispatch queue that is passed as it is")
    func dispatchQueue() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let queue = DispatchQueue(label: "callbacks")
        let end = Promise<Bool>()
        stage.pipeline.load(ImageRequest(Stage.url), on: queue) { _, result in
            dispatchPrecondition(condition: .onQueue(queue))
            end.set((try? result.get()) != nil)
        }
        #expect(try await end.value)
    }

    @Test("Setting a header field by subscript replaces all fields with its name, and nil removes them")
    func fields() {
        var request = ImageRequest("http://a.example/1")
        request.fields["Accept"] = "image/png"
        request.fields.append("accept", "image/jpeg")
        #expect(request.fields.values("Accept") == ["image/png", "image/jpeg"])
        request.fields["ACCEPT"] = "image/webp"
        #expect(request.fields.values("Accept") == ["image/webp"])
        request.fields["accept"] = nil
        #expect(request.fields.isEmpty)
    }

    @Test("Only a cancelled load's error is a cancellation")
    func cancellation() {
        #expect(LoadError.cancelled(url: nil, stage: .fetch).isCancellation)
        #expect(!LoadError(.timedOut, stage: .fetch, message: "The request timed out.").isCancellation)
    }

    @Test("File name extensions name formats, whatever their case")
    func fileExtensions() {
        #expect(ImageFormat(fileExtension: "JPG") == .jpeg)
        #expect(ImageFormat(fileExtension: "tif") == .tiff)
        #expect(ImageFormat(fileExtension: "txt") == nil)
        #expect(ImageFormat(fileExtension: "") == nil)
        for format: ImageFormat in [.jpeg, .png, .webp, .gif, .avif, .jpegXL, .heic, .bmp] {
            #expect(ImageFormat(fileExtension: format.fileExtension) == format)
        }
    }
}
