import Dispatch
import Inflight
import InflightConcurrency
import InflightTestSupport
import Testing

@Suite("Loaders and prefetchers over real sockets", .timeLimit(.minutes(10)))
struct LoaderSocketTests {
    private let queue = DispatchQueue(label: "cells")

    private static func request(_ url: String) -> ImageRequest { .patient(url, resize: Resize(width: 16)) }

    private func cell(_ pipeline: ImagePipeline) -> ConfinedReference<ImageLoader> {
        ConfinedReference(ImageLoader(pipeline: pipeline, callbackQueue: .queue(queue)))
    }

    @Test("A cell that is bound three times shows the last image, and the other fetches end")
    func recycledCell() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let picture = try Pictures.jpeg()
        server.serve("/1.jpg", .ok(picture, type: "image/jpeg").held("never", after: 100))
        server.serve("/2.jpg", .ok(picture, type: "image/jpeg").held("never", after: 100))
        server.serve("/3.png", .ok(try Pictures.png(width: 32), type: "image/png"))
        let pipeline = try ImagePipeline(configuration: .init())
        let cell = cell(pipeline)
        let shown = ValueBridge<String>()
        cell.submit { loader in
            loader.onChange = { loader in
                guard case .loaded(let image) = loader.state else { return }
                shown.open(with: image.url)
            }
        }
        for path in ["/1.jpg", "/2.jpg"] {
            cell.submit { $0.request = Self.request(server.url(path)) }
            try await server.waitForRequest(path, within: .seconds(50))
        }
        cell.submit { $0.request = Self.request(server.url("/3.png")) }
        #expect(await shown.value() == server.url("/3.png"))
        await pipeline.shutdown(.finish)
        #expect(server.requestCount == 3)
    }

    @Test("A prefetched image is shown at once, and a fetch that a view joined outlives its prefetcher")
    func prefetched() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let picture = try Pictures.jpeg()
        server.serve("/ahead.jpg", .ok(picture, type: "image/jpeg"))
        server.serve("/joined.jpg", .ok(picture, type: "image/jpeg").held("half", after: 100))
        let pipeline = try ImagePipeline(configuration: .init())
        var prefetcher: Prefetcher? = Prefetcher(pipeline: pipeline, destination: .memory)
        prefetcher?.start([
            Self.request(server.url("/ahead.jpg")), Self.request(server.url("/joined.jpg")),
        ])
        try await server.waitUntilHeld("half", within: .seconds(50))
        try await eventually("the first picture") { prefetcher?.statistics.loaded == 1 }
        let cell = cell(pipeline)
        let ahead = await ValueBridge.value { (done: ValueBridge<LoadSource?>) in
            cell.submit { loader in
                loader.request = Self.request(server.url("/ahead.jpg"))
                guard case .loaded(let image) = loader.state else {
                    done.open(with: nil)
                    return
                }
                done.open(with: image.source)
            }
        }
        #expect(ahead == .memory)
        let width = ValueBridge<Int>()
        cell.submit { loader in
            loader.onChange = { loader in
                if case .loaded(let image) = loader.state { width.open(with: image.width) }
            }
            loader.request = Self.request(server.url("/joined.jpg"))
        }
        try await eventually("the view to join") { pipeline.statistics.tasksInFlight == 2 }
        prefetcher = nil
        server.release("half")
        #expect(await width.value() == 16)
        #expect(server.requestCount == 2)
    }
}
