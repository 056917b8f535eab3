import Foundation
import Inflight
import InflightConcurrency
import InflightTestSupport
import Testing

@Suite("Disk cache over real sockets", .timeLimit(.minutes(10)))
struct CacheSocketTests {
    /// A pipeline with a disk cache in its own folder, and a closure that ends both.
    private func stage() throws -> (pipeline: ImagePipeline, end: @Sendable () async -> Void) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("inflight-\(UUID())")
        var configuration = ImagePipeline.Configuration(cache: DiskStore.Configuration(folder: folder.path))
        configuration.retry = nil
        let pipeline = try ImagePipeline(configuration: configuration)
        return (
            pipeline,
            {
                await pipeline.shutdown(.finish)
                try? FileManager.default.removeItem(at: folder)
            }
        )
    }

    private func ask(
        _ pipeline: ImagePipeline, _ url: String, _ change: (inout ImageRequest) -> Void = { _ in }
    ) async throws -> LoadedResponse {
        var request = ImageRequest.patient(url)
        change(&request)
        return try await pipeline.response(for: request)
    }

    @Test("RFC 9111 4.4: A stored response is found by the next request, and a PUT invalidates it")
    func order() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serveOthers { .ok($0.body).field("Cache-Control", "max-age=3600") }
        let (pipeline, end) = try stage()
        for number in 0..<40 {
            let url = server.url("/\(number)")
            var sources: [LoadSource] = []
            sources.append(try await ask(pipeline, url).source)
            sources.append(try await ask(pipeline, url).source)
            for body in ["one", "two"] {
                let posted = try await ask(pipeline, url) { request in
                    request.method = "PUT"
                    request.body = Bytes(body)
                }
                #expect(posted.body == Bytes(body))
                sources.append(try await ask(pipeline, url).source)
                sources.append(try await ask(pipeline, url).source)
            }
            #expect(sources == [.network, .disk, .network, .disk, .network, .disk], "\(number)")
        }
        await end()
    }

    @Test(
        "Pipelines that share a folder and fetch a URL at once keep one entry for each variant",
        arguments: [1000, 100_000, 1_200_000])
    func sharedFolder(size: Int) async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let body = Bytes([UInt8](repeating: 7, count: size))
        server.serveOthers { _ in
            .ok(body).field("Cache-Control", "max-age=3600").field("ETag", "\"1\"").held("all")
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("inflight-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let cache = DiskStore.Configuration(folder: folder.path)
        let pipelines = try (0..<4).map { _ in
            try ImagePipeline(configuration: ImagePipeline.Configuration(cache: cache))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, pipeline) in pipelines.enumerated() {
                for user in ["anna", "ben"] {
                    group.addTask {
                        let response = try await ask(pipeline, server.url("/image")) {
                            $0.originFields["Cookie"] = user
                        }
                        #expect(response.source == .network && response.body == body, "\(number)")
                    }
                }
            }
            try await server.wait(until: .held("all", count: 8))
            server.release("all")
            try await group.waitForAll()
        }
        for pipeline in pipelines { await pipeline.shutdown(.finish) }
        let store = DiskStore(cache)
        let statistics = try await store.statistics()
        #expect(statistics.entries == 2)
        #expect(statistics.bodyBytes == 2 * Int64(size))
        await store.shutdown()
    }

    @Test("A pipeline whose cache folder is a file is not created, and other trouble of the cache is logged")
    func unusableFolder() async throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("inflight-\(UUID())")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: place) }
        let file = place.appendingPathComponent("file")
        try Data("letter".utf8).write(to: file)
        let error = #expect(throws: LoadError.self) {
            _ = try ImagePipeline(configuration: .init(cache: .init(folder: file.path)))
        }
        #expect(error?.message.contains("\(file.path) is a file") == true, "\(error?.message ?? "")")
        #expect(try Data(contentsOf: file) == Data("letter".utf8))
        // A folder with other files is refused when it is first used.
        let entries = Guarded([String]())
        var configuration = ImagePipeline.Configuration(cache: .init(folder: place.path))
        configuration.log = { entry in
            if entry.level >= .notice { entries.withLock { $0.append(entry.description) } }
        }
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serveOthers { _ in .ok(Bytes("x")).field("Cache-Control", "max-age=60") }
        let pipeline = try ImagePipeline(configuration: configuration)
        _ = try await ask(pipeline, server.url("/"))
        await pipeline.shutdown(.finish)
        let logged = entries.withLock { $0 }
        #expect(logged.count == 1 && logged[0].contains("contains other files"), "\(logged)")
    }

    @Test("RFC 9110 6.5: Trailers of a chunked body reach the caller and are not stored")
    func trailers() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serve(
            "/a",
            .ok(Bytes("hello")).chunked([2]).field("Cache-Control", "max-age=3600").field("Trailer", "X-Sum")
                .trailer("X-Sum", "1").trailer("Content-Length", "9"))
        let (pipeline, end) = try stage()
        let first = try await ask(pipeline, server.url("/a"))
        #expect(first.body == Bytes("hello"))
        #expect(first.trailers == HTTPFields([("X-Sum", "1"), ("Content-Length", "9")]))
        #expect(!first.head.fields.contains("x-sum") && !first.head.fields.contains("content-length"))
        let second = try await ask(pipeline, server.url("/a"))
        #expect(second.source == .disk && second.body == Bytes("hello"))
        #expect(second.trailers.isEmpty && !second.head.fields.contains("trailer"))
        await end()
    }

    @Test("RFC 9110 15.2: Interim responses, any method and the order of fields pass through unchanged")
    func general() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serve(
            "/a",
            .ok(Bytes("x")).interim(103, HTTPFields([("Link", "</a.css>")])).interim(103).field("b", "2").field(
                "A", "1"
            )
            .field("b", "3"))
        let (pipeline, end) = try stage()
        for method in ["M-SEARCH", "PROPFIND", "get"] {
            let answer = try await ask(pipeline, server.url("/a")) { request in
                request.method = method
                request.fields = HTTPFields([("z", "1"), ("Y", "2"), ("z", "3")])
            }
            #expect(answer.interimHeads.map(\.status) == [103, 103])
            #expect(answer.interimHeads.first?.fields["link"] == "</a.css>")
            let names = (0..<answer.head.fields.count).map { answer.head.fields.name($0) }
            #expect(names.filter { ["a", "b"].contains($0.lowercased()) } == ["b", "A", "b"])
            let sent = server.requests.last
            #expect(sent?.method == method)
            let own = (0..<(sent?.fields.count ?? 0)).compactMap { sent?.fields.name($0) }
            #expect(own.filter { ["z", "y"].contains($0.lowercased()) } == ["z", "Y", "z"])
        }
        await end()
    }
}
