import Foundation
import Inflight
import InflightConcurrency
import InflightTestSupport
import Testing

@Suite("Processed images in the disk cache", .timeLimit(.minutes(10)))
struct StoredRepresentationTests {
    private func load(
        _ folder: String, _ url: String, _ form: ImageRequest.StoredRepresentation,
        _ change: (inout ImageRequest) -> Void = { _ in }
    ) async throws -> LoadedImage {
        let pipeline = try ImagePipeline(configuration: .init(cache: .init(folder: folder)))
        var request = ImageRequest(url, resize: Resize(width: 16))
        request.storedRepresentation = form
        change(&request)
        let image = try await pipeline.image(for: request)
        await pipeline.shutdown(.finish)
        return image
    }

    private static let jpeg = EncodeOptions(format: .jpeg, quality: 90)

    @Test(
        "A stored processed image is found in the next run: PNG exact, JPEG nearly so, alpha kept",
        arguments: [
            ("/a.jpg", ImageRequest.StoredRepresentation.processed), ("/a.jpg", .both(jpeg)),
            ("/a.png", .processed(jpeg)),
        ])
    func nextRun(path: String, form: ImageRequest.StoredRepresentation) async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serve("/a.jpg", .ok(try Pictures.jpeg(), type: "image/jpeg").field("Cache-Control", "max-age=1000"))
        server.serve("/a.png", .ok(try Self.transparent(), type: "image/png").field("Cache-Control", "max-age=1000"))
        let folder = NSTemporaryDirectory() + "inflight-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }

        let first = try await load(folder, server.url(path), form)
        let second = try await load(folder, server.url(path), form)
        #expect(first.source == .network)
        #expect(second.source == .disk)
        #expect(second.info.storedWidth == 16)
        #expect(second.info.format == (form == .both(Self.jpeg) ? .jpeg : .png))
        #expect(second.pixels.format == first.pixels.format)
        let differences = zip(first.pixels.bytes.array, second.pixels.bytes.array).map { abs(Int($0) - Int($1)) }
        #expect(differences.reduce(0, +) <= (form == .both(Self.jpeg) ? 8 * differences.count : 0))
        #expect(server.requests.count == 1)
    }

    @Test("Processed images with and without metadata are separate entries in the disk cache")
    func metadata() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        var encoding = EncodeOptions(format: .jpeg)
        encoding.metadata = ImageMetadata(xmpBytes: Bytes("<where I live/>"))
        let file = try Pictures.codecs.encode(
            try Pictures.codecs.decode(
                try Pictures.jpeg(), options: DecodeOptions(), cancellation: CancellationFlag()
            ).0, options: encoding)
        server.serve("/a.jpg", .ok(file, type: "image/jpeg").field("Cache-Control", "max-age=1000"))
        let folder = NSTemporaryDirectory() + "inflight-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }

        func load(_ keeps: Bool, _ form: ImageRequest.StoredRepresentation) async throws -> LoadedImage {
            try await self.load(folder, server.url("/a.jpg"), form) { $0.keepsMetadata = keeps }
        }
        #expect(try await load(false, .processed(Self.jpeg)).metadata == nil)
        for form in [ImageRequest.StoredRepresentation.processed(Self.jpeg), .processed] {
            let first = try await load(true, form)
            #expect(first.source == .network && first.metadata?.xmp == "<where I live/>")
            let second = try await load(true, form)
            #expect(second.source == .disk && second.metadata?.xmp == "<where I live/>")
        }
        // The entry stored first has no metadata, and still serves a request that wants none.
        let plain = try await load(false, .processed(Self.jpeg))
        #expect(plain.source == .disk && plain.metadata == nil && plain.bodyBytes < file.count)
        #expect(server.requests.count == 3)
    }

    private static func transparent() throws -> Bytes {
        let pixels = unsafe PixelBuffer(width: 32, height: 32, format: .rgba) { memory in
            for index in 0..<(32 * 32 * 4) { unsafe memory[index] = UInt8(truncatingIfNeeded: index / 16) }
        }
        return try Pictures.codecs.encode(pixels, options: EncodeOptions(format: .png))
    }
}
