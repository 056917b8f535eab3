import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Contract 3: exactly one ending per task", .timeLimit(.minutes(10)))
struct Contract3Tests {
    @Test("A task ends once, with success or failure, and a later cancel has no effect", arguments: [true, false])
    func once(succeeds: Bool) throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, succeeds ? .ok(Bytes("x"), chunks: [1]) : .failure(.cannotConnect))
        let log = Log()
        let task = stage.load(log: log)
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == [succeeds ? "end: x" : "end: cannotConnect"])
        task.cancel()
        stage.queue.runAll()
        #expect(!task.isCancelled)
        #expect(log.lines.count == 1)
    }

    @Test("A cancel before the ending passes the gate suppresses every callback")
    func cancelled() throws {
        for isDelivered in [false, true] {
            let stage = try Stage()
            stage.transport.serve(Stage.url, .ok(Bytes("x")))
            let log = Log()
            let task = stage.load(log: log)
            if isDelivered { stage.transport.finish(Stage.url) }
            #expect(stage.queue.count == (isDelivered ? 1 : 0))
            task.cancel()
            task.cancel()
            #expect(task.isCancelled)
            stage.transport.finishAll()
            stage.queue.runAll()
            #expect(log.lines == [])
            #expect(task.isCancelled)
            #expect(stage.pipeline.statistics.tasksInFlight == 0)
        }
    }

    @Test("A cancel inside the completion handler has no effect")
    func cancelledInTheEnding() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        let log = Log()
        stage.pipeline.loadResponse(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { task, _ in
            task.cancel()
            log.add("\(task.isCancelled)")
        }
        stage.transport.finish(Stage.url)
        stage.queue.runAll()
        #expect(log.lines == ["false"])
    }

    @Test("Cancelling the awaiting task throws LoadError.cancelled and stops the transfer")
    func awaited() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .silent)
        let waiting = Task { try await stage.pipeline.image(for: ImageRequest(Stage.url)).width }
        try await stage.transport.waitForStarts(1, within: .seconds(50))
        waiting.cancel()
        let result = await waiting.result
        #expect((result.failure as? LoadError)?.code == .cancelled)
        try await stage.transport.wait(for: .ended(Stage.url, .cancelled), within: .seconds(50))
        await stage.pipeline.shutdown(.finish)
    }

    @Test("Awaiting in a cancelled task throws LoadError.cancelled and sends nothing")
    func awaitedTooLate() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let gate = Bridge()
        let waiting = Task {
            await gate.wait()
            return try await stage.pipeline.image(for: ImageRequest(Stage.url)).width
        }
        waiting.cancel()
        gate.open()
        let result = await waiting.result
        #expect((result.failure as? LoadError)?.code == .cancelled)
        #expect(stage.transport.startCount == 0)
        #expect(stage.pipeline.statistics.jobsInFlight == 0)
    }

    @Test("A stream ends with exactly one success, and no progress follows it")
    func streamSuccess() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture(padding: 50), chunks: [5]))
        var endings = 0
        for await event in stage.pipeline.events(for: ImageRequest(Stage.url)) {
            switch event {
            case .progress, .preview: #expect(endings == 0)
            case .stale: Issue.record("nothing is stored")
            case .success: endings += 1
            case .failure(let error): Issue.record(error)
            }
        }
        #expect(endings == 1)
    }

    @Test(
        "A cancelled stream yields one failure, cancelled, whether it has started or not", arguments: [true, false])
    func streamCancelled(hasStarted: Bool) async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .silent)
        let events = stage.pipeline.events(for: ImageRequest(Stage.url))
        if !hasStarted { events.task.cancel() }
        let waiting = Task {
            var codes: [LoadError.Code?] = []
            for await event in events {
                if case .failure(let error) = event { codes.append(error.code) } else { codes.append(nil) }
            }
            return codes
        }
        if hasStarted {
            try await stage.transport.waitForStarts(1, within: .seconds(50))
            waiting.cancel()
        }
        #expect(await waiting.value == [.cancelled])
        #expect(stage.transport.startCount == (hasStarted ? 1 : 0))
        #expect(events.task.isCancelled)
        await stage.pipeline.shutdown(.finish)
    }

    @Test("A second iterator of a stream starts no second task")
    func twoIterators() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .status(404))
        let events = stage.pipeline.events(for: ImageRequest(Stage.url))
        var count = 0
        for await _ in events { count += 1 }
        for await _ in events { Issue.record("the stream had ended") }
        #expect(count >= 1)
        #expect(stage.pipeline.statistics.tasks == 1)
        #expect(stage.transport.startCount == 1)
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { return error }
        return nil
    }
}
