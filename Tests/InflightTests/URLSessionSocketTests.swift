import Inflight
import InflightFoundation
import InflightTestSupport
import Testing

@Suite("Standard pipeline with URLSession instead of libcurl", .timeLimit(.minutes(10)))
struct URLSessionSocketTests {
    @Test("The pipeline loads images and gzip bodies, and gets image info from a partial body")
    func loading() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let picture = try Pictures.jpeg(width: 320, height: 240)
        let coded = Gzip.zeros(runs: 100)
        server.serve("/a.jpg", .redirect(to: "/b.jpg"))
        server.serve("/b.jpg", .ok(picture, type: "image/jpeg"))
        server.serve("/half.jpg", .ok(picture, type: "image/jpeg").held("never", after: 2000))
        server.serve("/coded", .ok(Bytes(coded)).field("Content-Encoding", "gzip"))
        var configuration = ImagePipeline.Configuration()
        configuration.transports.append(.owned { _ in URLSessionTransport() })
        let pipeline = try ImagePipeline(configuration: configuration)
        let image = try await pipeline.image(
            for: ImageRequest(server.url("/a.jpg"), resize: Resize(width: 32, height: 24, fit: .fill)))
        #expect(image.pixels.width == 32 && image.pixels.height == 24)
        #expect(try await pipeline.info(for: .patient(server.url("/half.jpg"))).info.width == 320)
        #expect(try await pipeline.response(for: ImageRequest(server.url("/coded"))).body.count == 1 + 258 * 100)
        await pipeline.shutdown(.finish)
    }

    @Test("Each cookie of a redirect is sent to its target")
    func cookies() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let date = "Expires=Wed, 01 Jan 2098 00:00:00 GMT"
        server.serve(
            "/a", .redirect(to: "/b").field("Set-Cookie", "a=1; \(date)").field("Set-Cookie", "b=2; \(date); Path=/"))
        server.serve("/b", .ok(Bytes("there")))
        var configuration = ImagePipeline.Configuration()
        configuration.transports.append(.owned { _ in URLSessionTransport() })
        let pipeline = try ImagePipeline(configuration: configuration)
        #expect(try await pipeline.response(for: .patient(server.url("/a"))).body == Bytes("there"))
        #expect(server.requests(of: "/b").map { $0.fields["cookie"] } == ["a=1; b=2"])
        await pipeline.shutdown(.finish)
    }
}
