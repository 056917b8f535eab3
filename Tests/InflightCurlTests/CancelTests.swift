import InflightCore
import InflightCurl
import InflightTestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct CancelTests {
    @Test("A cancelled transfer ends once and closes its connection") func connectionClosure() throws {
        let server = try LoopbackServer()
        server.serve("/", .ok(Bytes("0123456789")).held("half", after: 5))
        let transport = try CurlTransport()
        let recorder = Recorder()
        let transfer = transport.start(try .of(server.url("/")), receiver: recorder)
        _ = recorder.wait { $0.body.count == 5 }
        transfer.cancel()
        transfer.cancel()
        #expect(recorder.waitForEnd().error?.code == .cancelled)
        transfer.cancel()
        transfer.resume()
        try server.blockUntilClosedByPeer("/")
    }

    @Test("A transfer can be cancelled right after its start, while connecting and before the response")
    func earlyCancellation() throws {
        let server = try LoopbackServer()
        server.serve("/", .ok(Bytes("x")).held("head"))
        let transport = try CurlTransport()
        for _ in 0..<50 {
            let recorder = Recorder()
            transport.start(try .of(server.url("/")), receiver: recorder).cancel()
            #expect(recorder.waitForEnd().error?.code == .cancelled)
        }
        let waiting = Recorder()
        let transfer = transport.start(try .of(server.url("/")), receiver: waiting)
        try server.blockUntilHeld("head")
        transfer.cancel()
        #expect(waiting.waitForEnd().error?.code == .cancelled)
        var greeting = LoopbackServer.Configuration()
        greeting.greeting = .silence
        let silent = try LoopbackServer(greeting)
        let shaking = Recorder()
        let handshake = transport.start(try .of("https://127.0.0.1:\(silent.port)/"), receiver: shaking)
        try silent.block(until: .openedConnections(1))
        handshake.cancel()
        #expect(shaking.waitForEnd().error?.code == .cancelled)
        try silent.block(until: .openConnections(0))
    }

    @Test("A receiver can cancel the transfer at the head and in the body") func receiverCancellation() throws {
        let server = try LoopbackServer()
        server.serve("/", .ok(Bytes("0123456789")))
        let transport = try CurlTransport()
        let atHead = Recorder(onHead: { _ in .cancel })
        _ = transport.start(try .of(server.url("/")), receiver: atHead)
        #expect(atHead.waitForEnd().error?.code == .cancelled)
        #expect(atHead.heard.chunks == 0)
        let atBody = Recorder(onBytes: { _ in .cancel })
        _ = transport.start(try .of(server.url("/")), receiver: atBody)
        #expect(atBody.waitForEnd().error?.code == .cancelled)
        #expect(atBody.heard.chunks == 1)
    }

    @Test("A paused transfer delivers nothing until it is resumed, and does not count as stalled")
    func pausing() throws {
        let bytes = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let server = try LoopbackServer()
        server.serve("/", .ok(Bytes(bytes)))
        let transport = try CurlTransport()
        let recorder = Recorder(
            onHead: { _ in .pause }, onBytes: { $0 == 0 || $0 > 700_000 && $0 < 710_000 ? .pause : .proceed })
        let transfer = transport.start(
            try .of(server.url("/")) { $0.limits.stallTimeout = .seconds(1) }, receiver: recorder)
        _ = recorder.wait { $0.head != nil }
        // Other transfers continue meanwhile, and a pause does not count as a stall.
        server.serve("/slow", .ok(Bytes("x")).delayed(.milliseconds(1200)))
        server.serve("/quick", .ok(Bytes("y")))
        #expect(try transport.load(server.url("/slow")).text == "x")
        #expect(recorder.heard.chunks == 0)
        transfer.resume()
        _ = recorder.wait { $0.chunks == 1 }
        #expect(try transport.load(server.url("/quick")).text == "y")
        #expect(recorder.heard.chunks == 1)
        transfer.resume()
        _ = recorder.wait { $0.body.count > 700_000 }
        // An extra resume is harmless, whether or not the transfer has paused again.
        while recorder.heard.end == nil {
            transfer.resume()
            #expect(try transport.load(server.url("/quick")).text == "y")
        }
        #expect(recorder.heard.body == bytes)
        #expect(recorder.heard.summary?.bodyBytes == 1_500_000)
    }

    @Test("A paused transfer ends when it is resumed or cancelled") func pausedEnding() throws {
        let server = try LoopbackServer()
        server.serve("/", .ok(Bytes("short")))
        let transport = try CurlTransport()
        for cancels in [false, true] {
            let recorder = Recorder(onBytes: { _ in .pause })
            let transfer = transport.start(try .of(server.url("/")), receiver: recorder)
            _ = recorder.wait { $0.chunks == 1 }
            #expect(try transport.load(server.url("/")).text == "short")
            #expect(recorder.heard.end == nil)
            if cancels { transfer.cancel() } else { transfer.resume() }
            #expect(recorder.waitForEnd().error?.code == (cancels ? .cancelled : nil))
        }
    }

    @Test("Shutdown ends all transfers and rejects new ones") func shutdown() async throws {
        let server = try LoopbackServer()
        server.serve("/", .ok(Bytes("x")).held("head"))
        let transport = try CurlTransport()
        let recorders = try (0..<20).map { _ in
            let recorder = Recorder()
            _ = transport.start(try .of(server.url("/")), receiver: recorder)
            return recorder
        }
        await transport.shutdown()
        for recorder in recorders { #expect(recorder.heard.error?.code == .shutDown) }
        #expect(try transport.load(server.url("/")).error?.code == .shutDown)
        await transport.shutdown()
        let unused = try CurlTransport()
        await unused.shutdown()
        #expect(try unused.load(server.url("/")).error?.code == .shutDown)
    }

    @Test("A transfer completes after its transport is released") func releasedTransport() throws {
        let server = try LoopbackServer()
        server.serve("/", .ok(Bytes("x")).held("head"))
        let recorder = Recorder()
        _ = try CurlTransport().start(try .of(server.url("/")), receiver: recorder)
        try server.blockUntilHeld("head")
        server.release("head")
        #expect(recorder.waitForEnd().text == "x")
    }
}
