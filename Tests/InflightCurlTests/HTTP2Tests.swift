import InflightCore
import InflightCurl
import InflightTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct HTTP2Tests {
    private func transport(_ nginx: Nginx) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.caFile = nginx.caFile
        return try CurlTransport(configuration: configuration)
    }

    @Test func `Many exchanges share one connection`() throws {
        let nginx = try Nginx()
        let transport = try transport(nginx)
        let recorders = try (0..<200).map { _ in
            let recorder = Recorder()
            _ = transport.start(try .of(nginx.url + "/small"), receiver: recorder)
            return recorder
        }
        for recorder in recorders {
            let heard = recorder.waitForEnd()
            #expect(heard.head?.version == .http2)
            #expect(heard.body == nginx.small)
        }
        #expect(recorders.count { $0.heard.summary?.reusedConnection == false } <= 6)
    }

    @Test func `A stream that is cancelled leaves its connection to the others`() throws {
        let nginx = try Nginx()
        let transport = try transport(nginx)
        #expect(try transport.load(nginx.url + "/small").summary != nil)
        for _ in 0..<10 {
            let recorder = Recorder(onHead: { _ in .pause })
            let transfer = transport.start(try .of(nginx.url + "/large"), receiver: recorder)
            _ = recorder.wait { $0.head != nil }
            transfer.cancel()
            #expect(recorder.waitForEnd().error?.code == .cancelled)
            let heard = try transport.load(nginx.url + "/small")
            #expect(heard.body == nginx.small)
            #expect(heard.summary?.reusedConnection == true)
        }
    }

    @Test func `A pause of one stream holds up no other, and loses nothing`() throws {
        let nginx = try Nginx()
        let transport = try transport(nginx)
        let recorder = Recorder(onBytes: { $0 == 0 ? .pause : .proceed })
        let transfer = transport.start(try .of(nginx.url + "/large"), receiver: recorder)
        _ = recorder.wait { $0.chunks == 1 }
        for _ in 0..<20 { #expect(try transport.load(nginx.url + "/small").body == nginx.small) }
        #expect(recorder.heard.chunks == 1)
        transfer.resume()
        #expect(recorder.waitForEnd().body == nginx.large)
    }

    @Test func `Limits and missing paths are told as over HTTP 1`() throws {
        let nginx = try Nginx()
        let transport = try transport(nginx)
        let refused = try transport.load(nginx.url + "/large") { $0.limits.maximumBodyBytes = 1000 }
        #expect(refused.error?.code == .tooLarge)
        let missing = try transport.load(nginx.url + "/missing")
        #expect(missing.head?.status == 404)
        #expect(missing.summary != nil)
    }

    @Test func `Streams that exceed the budget of bodies in flight hold up no other`() async throws {
        let nginx = try Nginx()
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(try transport(nginx))], codecs: CodecRegistry([]))
        configuration.maximumBodyBytesInFlight = 100_000
        let pipeline = try ImagePipeline(configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<32 {
                let isLarge = number % 4 != 0
                let request = ImageRequest(nginx.url + (isLarge ? "/large?\(number)" : "/small?\(number)"))
                group.addTask {
                    let response = try await pipeline.response(for: request)
                    #expect(response.head.version == .http2)
                    #expect(response.body.array == (isLarge ? nginx.large : nginx.small))
                }
            }
            try await group.waitForAll()
        }
        #expect(pipeline.statistics.bodyBytesInFlight == 0)
    }
}
