import Inflight
import InflightTestSupport
import Testing

/// `Configuration.forServers`: what a client of a server must not reach, over real sockets and files.
@Suite("Configuration for servers", .timeLimit(.minutes(10)))
struct ServerConfigurationTests {
    private func code(_ pipeline: ImagePipeline, _ url: String) async -> LoadError.Code? {
        do throws(LoadError) {
            _ = try await pipeline.data(for: ImageRequest(url))
            return nil
        } catch {
            return error.code
        }
    }

    @Test("Files and data URLs are refused by their scheme, whether they exist or not")
    func schemes() async throws {
        let pipeline = try ImagePipeline(configuration: .forServers())
        for url in ["file:///etc/passwd", "file:///no/such/file", "data:,x", "FILE:///etc/passwd"] {
            #expect(await code(pipeline, url) == .unsupportedScheme)
        }
        await pipeline.shutdown(.cancel)
    }

    @Test("Addresses of the server's own network are refused")
    func addresses() async throws {
        let pipeline = try ImagePipeline(configuration: .forServers())
        for url in ["http://127.0.0.1:1/x", "http://[::1]:1/x", "http://2130706433:1/", "http://10.0.0.1/"] {
            #expect(await code(pipeline, url) == .addressNotAllowed)
        }
        await pipeline.shutdown(.cancel)
    }

    @Test("A redirect to a scheme that is not allowed is refused")
    func redirected() async throws {
        let transport = ScriptedTransport(.automatic, schemes: ["http", "file"])
        transport.serve("http://a.example/1", .status(302, HTTPFields([("Location", "file:///etc/passwd")])))
        transport.serve("file:///etc/passwd", .ok(Bytes("secret")))
        var configuration = ImagePipeline.Configuration.forServers()
        configuration.transports = [.shared(transport)]
        let pipeline = try ImagePipeline(configuration: configuration)
        #expect(await code(pipeline, "http://a.example/1") != nil)
        #expect(transport.startedURLs == ["http://a.example/1"])
        await pipeline.shutdown(.cancel)
    }

    @Test("A body beyond the pipeline's limit is refused, although the request allows it")
    func bodies() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serve("http://a.example/1", .ok(Bytes([UInt8](repeating: 1, count: 101))))
        transport.serve("http://a.example/2", .ok(Bytes([UInt8](repeating: 1, count: 100))))
        var configuration = ImagePipeline.Configuration.forServers(maximumBodyBytes: 100)
        configuration.transports = [.shared(transport)]
        let pipeline = try ImagePipeline(configuration: configuration)
        #expect(await code(pipeline, "http://a.example/1") == .tooLarge)
        #expect(await code(pipeline, "http://a.example/2") == nil)
        await pipeline.shutdown(.cancel)
    }
}
