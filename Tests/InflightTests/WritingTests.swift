import Foundation
import Inflight
import Testing

/// Imports `Inflight` alone, as an app does.
@Suite("Writing loaded images", .timeLimit(.minutes(10)))
struct WritingTests {
    private func image() async throws -> LoadedImage {
        let pipeline = try ImagePipeline(configuration: .init())
        let request = ImageRequest(source: .init("gradient") { .image(Pictures.gradient(width: 12, height: 8)) })
        let image = try await pipeline.image(for: request)
        await pipeline.shutdown(.finish)
        return image
    }

    @Test("A loaded image is encoded in the requested format")
    func encoded() async throws {
        let image = try await image()
        #expect(try image.encoded(as: .png).starts(with: [0x89, 0x50, 0x4E, 0x47]))
        let (good, bad) = (try image.encoded(as: .jpeg, quality: 95), try image.encoded(as: .jpeg, quality: 5))
        #expect(good.starts(with: [0xFF, 0xD8]) && bad.count < good.count)
        let error = #expect(throws: LoadError.self) { try image.encoded(as: .gif) }
        #expect(error?.code == .unsupportedFormat)
    }

    @Test("A loaded image is written in the format of the file's extension, or in another one")
    func written() async throws {
        let image = try await image()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("inflight-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }

        let file = folder.appendingPathComponent("a.JPG")
        try image.write(to: file, quality: 90)
        #expect(try Data(contentsOf: file).starts(with: [0xFF, 0xD8]))
        try image.write(to: file, as: .webp)
        let reloaded = try await ImagePipeline.shared.image(for: file)
        #expect(reloaded.info.format == .webp && reloaded.width == 12 && reloaded.height == 8)

        let name = #expect(throws: LoadError.self) { try image.write(to: folder.appendingPathComponent("a.txt")) }
        #expect(name?.code == .unsupportedFormat)
        let missing = folder.appendingPathComponent("none").appendingPathComponent("a.png")
        let place = #expect(throws: LoadError.self) { try image.write(to: missing) }
        #expect(place?.code == .cannotWrite)
        #expect(
            place?.message
                == "Cannot write \(missing.path): No such file or directory. Check the folder and the disk.")
        let remote = #expect(throws: LoadError.self) { try image.write(to: URL(string: "http://h/a.png")!) }
        #expect(remote?.message == "Cannot write /a.png: it is not a file URL. Check the folder and the disk.")
    }

    @Test("A download writes the bytes as received, and leaves the file unchanged if the load fails")
    func downloaded() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("inflight-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, text) = (folder.appendingPathComponent("a.txt"), "data:text/plain,cat")
        try await ImagePipeline.shared.download(ImageRequest(text), to: file)
        #expect(try String(contentsOf: file, encoding: .utf8) == "cat")
        let load = await #expect(throws: LoadError.self) {
            try await ImagePipeline.shared.download("file:///no/such/file", to: file)
        }
        #expect(load?.stage == .fetch)
        #expect(try String(contentsOf: file, encoding: .utf8) == "cat")
        let write = await #expect(throws: LoadError.self) {
            try await ImagePipeline.shared.download(ImageRequest(text), to: folder.appendingPathComponent("b/a.txt"))
        }
        #expect(write?.code == .cannotWrite)
    }

    @Test("The events of a load give its image, or throw its error")
    func eventsImage() async throws {
        let pipeline = try ImagePipeline(configuration: .init())
        let source = ImageRequest.Source("gradient") { .image(Pictures.gradient(width: 12, height: 8)) }
        #expect(try await pipeline.events(for: ImageRequest(source: source)).image.width == 12)
        let events = pipeline.events(for: "file:///no/such/file")
        let error = await #expect(throws: LoadError.self) { try await events.image }
        #expect(error?.stage == .fetch)
        await pipeline.shutdown(.finish)
    }

    @Test("The configuration of a pipeline can be read back")
    func configuration() async throws {
        var configuration = ImagePipeline.Configuration()
        configuration.maximumQueuedTasks = 17
        let pipeline = try ImagePipeline(configuration: configuration)
        #expect(pipeline.configuration.maximumQueuedTasks == 17)
        await pipeline.shutdown(.finish)
    }
}
