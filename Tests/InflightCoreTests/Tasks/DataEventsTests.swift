import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// `pipeline.events(forData:)`: the contract's rules for streams, in a load of bytes.
@Suite("Events of loads of bytes", .timeLimit(.minutes(10)))
struct DataEventsTests {
    private static let body = Bytes("abcdefgh")

    /// Returns the events as text.
    private func read(_ events: DataEvents, into log: Log = Log()) async -> [String] {
        for await event in events {
            switch event {
            case .progress(let progress): log.add("\(progress.receivedBytes) of \(progress.expectedBytes ?? -1)")
            case .preview: log.add("preview")
            case .success(let response): log.add("\(response.body.count) from \(response.source)")
            case .failure(let error): log.add(error.code.rawValue)
            }
        }
        return log.lines
    }

    @Test("Progress increases, and the response is last")
    func order() async throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Self.body, chunks: [2]))
        let log = Log()
        let reading = Task { await read(stage.pipeline.events(forData: Stage.url), into: log) }
        try await stage.transport.waitForStarts(1)
        stage.step()
        for count in 1...3 {
            stage.step()
            try await eventually("the progress") { log.lines.count == count }
        }
        stage.transport.finish(Stage.url)
        let lines = await reading.value
        #expect(lines.prefix(3) == ["2 of 8", "4 of 8", "6 of 8"] && lines.last == "8 from network")
        #expect(stage.codec.decodes.count == 0)
    }

    @Test("Every ending is the only one", arguments: [("badStatus", 404), ("cannotConnect", nil)])
    func failures(expected: String, status: Int?) async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, status.map { .status($0) } ?? .failure(.cannotConnect))
        #expect(await read(stage.pipeline.events(forData: Stage.url)) == [expected])
        #expect(await read(stage.pipeline.events(forData: "no URL")) == ["invalidURL"])
    }

    @Test("Nothing is sent before the first event is requested, and releasing the stream cancels the load")
    func lifetime() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .silent)
        do {
            let events = stage.pipeline.events(forData: Stage.url)
            #expect(!events.task.isCancelled && stage.transport.startCount == 0)
        }
        let reading = Task { await read(stage.pipeline.events(forData: Stage.url)) }
        try await stage.transport.waitForStarts(1)
        reading.cancel()
        #expect(await reading.value == ["cancelled"])
        try await stage.transport.wait(for: .cancelled(Stage.url))
    }

    @Test("The bytes and an image share one fetch, and a source of pixels has no bytes")
    func shared() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()).stalled("body"))
        let image = Task { try await stage.pipeline.image(for: ImageRequest(Stage.url)).width }
        try await stage.transport.waitForStarts(1)
        let reading = Task { await read(stage.pipeline.events(forData: Stage.url)) }
        try await eventually("both loads") { stage.pipeline.statistics.tasksInFlight == 2 }
        stage.transport.release("body")
        #expect(await reading.value.last == "10 from shared")
        #expect(try await image.value == 4 && stage.transport.startCount == 1)
        let request = ImageRequest(source: .init("mine") { .image(FakeCodec.pixels(width: 2, height: 2)) })
        #expect(await read(stage.pipeline.events(forData: request)) == ["invalidRequest"])
    }
}
