import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// Timeouts of scripted exchanges, which a clock lets expire.
@Suite("Timeouts of a scripted transport", .timeLimit(.minutes(10)))
struct ScriptedTimeoutTests {
    private let url = "http://h/a"
    private let clock = VirtualClock()

    private func request(_ change: (inout TransportRequest.Limits) -> Void = { _ in }) throws -> TransportRequest {
        var request = try TransportRequest(url: ResourceURL(url), priority: .normal)
        change(&request.limits)
        return request
    }

    @Test("A stall times out when the stall timeout has passed, counted from its beginning")
    func stall() throws {
        let transport = ScriptedTransport(.manual, clock: clock)
        transport.serve(url, .ok(Bytes("abcd")).stalled("half", after: 2))
        let recorder = Recorder()
        _ = transport.start(try request { $0.stallTimeout = .seconds(5) }, receiver: recorder)
        clock.advance(by: .seconds(60))
        transport.finish(url)
        #expect(recorder.heard == ["head 200 4", "0: ab"])
        clock.advance(by: .milliseconds(4999))
        #expect(!transport.step(url))
        clock.advance(by: .milliseconds(1))
        #expect(transport.step(url))
        #expect(recorder.heard.last == "error timedOut" && transport.events.last == .ended(url, .timedOut))
        if case .failure(let error)? = recorder.result { #expect(error.message.contains("stallTimeout")) }
    }

    @Test("Waiting for a connection takes the connect timeout, and the total timeout counts from the start")
    func connection() throws {
        let transport = ScriptedTransport(.manual, clock: clock)
        transport.serve(url, .ok(Bytes("ab")).connecting("connect").stalled("end", after: 2))
        let late = Recorder()
        _ = transport.start(
            try request { ($0.connectTimeout, $0.stallTimeout) = (.seconds(9), .seconds(3)) }, receiver: late)
        transport.step(url)
        clock.advance(by: .seconds(8))
        #expect(!transport.step(url))
        clock.advance(by: .seconds(1))
        #expect(transport.step(url) && late.heard == ["error timedOut"])

        let recorder = Recorder()
        _ = transport.start(try request { $0.totalTimeout = .seconds(10) }, receiver: recorder)
        clock.advance(by: .seconds(9))
        transport.release("connect")
        transport.finish(url)
        clock.advance(by: .seconds(1))
        #expect(transport.step(url) && recorder.heard == ["head 200 2", "0: ab", "error timedOut"])
    }

    @Test("In automatic mode a stall ends by itself, and later limits count from where the stall began")
    func automatic() async throws {
        let transport = ScriptedTransport(.automatic, clock: clock)
        transport.serve(url, .silent)
        let recorder = Recorder()
        let transfer = transport.start(try request { $0.stallTimeout = .seconds(20) }, receiver: recorder)
        try await clock.waitForTimers()
        clock.advance(by: .seconds(7))
        var limits = TransportRequest.Limits()
        limits.stallTimeout = .seconds(9)
        transfer.setLimits(limits)
        clock.advance(by: .milliseconds(1999))
        #expect(recorder.result == nil)
        clock.advance(by: .milliseconds(1))
        try await transport.wait(for: .ended(url, .timedOut))
        await transport.shutdown()
    }

    @Test("Without a clock a stall never times out")
    func withoutClock() throws {
        let transport = ScriptedTransport(.manual)
        transport.serve(url, .silent)
        let recorder = Recorder()
        _ = transport.start(try request { $0.stallTimeout = .zero }, receiver: recorder)
        #expect(!transport.step(url) && recorder.heard.isEmpty)
        transport.release("")
        #expect(transport.finish(url) && recorder.heard == ["end 0"])
    }

    @Test("A load of a pipeline fails at its own timeout, by the pipeline's clock")
    func load() async throws {
        let transport = ScriptedTransport(.manual, clock: clock)
        transport.serve(url, .ok(Bytes("ab")).stalled("head"))
        var configuration = ImagePipeline.Configuration(transports: [.shared(transport)], codecs: CodecRegistry([]))
        configuration.clock = clock
        let pipeline = try ImagePipeline(configuration: configuration)
        var request = ImageRequest(url)
        request.limits.stallTimeout = .seconds(2)
        let queue = ManualQueue()
        let codes = Guarded([String]())
        pipeline.loadResponse(request, on: queue.callbackQueue) { _, result in
            if case .failure(let error) = result { codes.withLock { $0.append(error.code.rawValue) } }
        }
        transport.step(url)
        clock.advance(by: .seconds(2))
        transport.step(url)
        queue.runAll()
        #expect(codes.withLock { $0 } == ["timedOut"])
    }
}
