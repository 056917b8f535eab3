import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Previews while an image loads.
@Suite(.timeLimit(.minutes(10)))
struct PreviewTests {
    private let place = TemporaryDirectory()

    @Test("Previews are written before the image is complete", arguments: [[], ["--size", "100x"]])
    func stored(_ options: [String]) async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        var encoding = EncodeOptions(format: .jpeg, quality: 95)
        encoding.isProgressive = true
        let picture = try TestImages.codecs.encode(TestImages.pixels(400, 300), options: encoding)
        server.serve("/a.jpg", .ok(picture).held("rest", after: picture.count / 2))
        server.serve("/other/a.jpg", .ok(picture))
        let command = RunningCommand(
            ["get", server.url("/a.jpg"), server.url("/other/a.jpg"), "-o", "out", "--previews", "--json"] + options,
            in: place)
        // The preview exists and is complete while the server holds the rest back, which must not take so long that
        // the command gives the transfer up.
        let early = ValueBridge<(preview: [UInt8], image: [UInt8]?)>()
        place.whenExists("out/a.preview-1.png") { [place] preview in
            early.open(with: (preview, place.read("out/a.jpg")))
            server.release("rest")
        }
        let (preview, image) = await early.value()
        let (pixels, info) = try TestImages.decode(preview)
        #expect(info.format == .png && pixels.width == (options.isEmpty ? 400 : 100))
        #expect(image == nil)
        let result = command.wait()
        #expect(result.status == 0)
        let line = try #require(try result.lines.first)
        #expect(line.previews?.first == "out/a.preview-1.png" && line.file == "out/a.jpg")
        #expect(line.previews?.allSatisfy { place.read($0) != nil } == true)
        #expect(place.read("out/a-2.jpg") != nil)
    }

    @Test("--incomplete accepts the decodable part of a truncated image and reports it")
    func incomplete() throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let picture = try TestImages.make(.jpeg, 400, 300)
        server.serve("/a.jpg", .ok(picture.part(0..<picture.count / 2)))
        let whole = place.run("get", server.url("/a.jpg"), "-o", "out", "--size", "100x", "--json")
        #expect(whole.status == 1)
        #expect(try whole.lines.first?.error?.code == "damaged")
        let result = place.run(
            "get", server.url("/a.jpg"), "-o", "out", "--size", "100x", "--json", "--incomplete", "--format", "png")
        #expect(result.status == 0)
        #expect(try result.lines.first?.incomplete == true)
        #expect(result.errors.contains("is truncated or corrupt"))
        let (pixels, _) = try TestImages.decode(place.read("out/a.png"))
        #expect(pixels.width == 100 && pixels.height == 75)
        #expect(pixels.bytes[3] == 255 && pixels.bytes[74 * pixels.bytesPerRow + 3] == 0)
        #expect(place.run("get", server.url("/a.jpg"), "-o", "out", "--incomplete").status == 64)
    }

    @Test("--previews without an output directory, or with --any, is a usage error")
    func refused() {
        #expect(place.run("get", "http://a.example/a.jpg", "--previews").status == 64)
        #expect(place.run("get", "http://a.example/a.jpg", "--previews", "--discard").status == 64)
        #expect(place.run("get", "http://a.example/a.jpg", "--previews", "-o", "out", "--any").status == 64)
    }
}
