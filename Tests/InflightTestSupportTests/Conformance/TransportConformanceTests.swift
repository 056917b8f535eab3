import InflightConcurrency
import InflightCore
import InflightCurl
import InflightTestSupport
import Testing

@Suite("Transport conformance checks", .timeLimit(.minutes(10)))
struct TransportConformanceTests {
    @Test("The libcurl transport conforms", arguments: TransportConformance.checks)
    func libcurl(check: TransportConformance.Check) async {
        let conformance = TransportConformance { try CurlTransport(configuration: .init()) }
        let failures = await conformance.run(check)
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test("A transport that calls its receiver inside start fails every check", arguments: TransportConformance.checks)
    func callInsideStart(check: TransportConformance.Check) async {
        let failures = await TransportConformance(waitingAtMost: .milliseconds(50)) { HastyTransport() }.run(check)
        #expect(failures.contains { $0.description.contains("inside a call of start") })
    }

    @Test("A transport that ends twice, skips bytes and returns a wrong body fails with each reason")
    func brokenTransport() async {
        let script: [@Sendable (any TransportReceiver) -> Void] = [
            { _ = $0.didReceive(ResponseHead(status: 200), expectedBytes: 3) },
            { receiver in _ = unsafe Bytes("abc").withUnsafeBytes { unsafe receiver.didReceive($0, at: 1) } },
            { $0.didEnd(.success(TransportSummary(wireBytes: 3, bodyBytes: 3))) },
            { $0.didEnd(.failure(LoadError(.timedOut, stage: .fetch, message: "again"))) },
        ]
        let conformance = TransportConformance { ThreadTransport(script) }
        let failures = await conformance.run(TransportConformance.checks[0]).map(\.description)
        for text in ["ended 2 times", "bytes at offset 1 arrived after 0 bytes", "after the end", "not what was sent"] {
            #expect(failures.contains { $0.contains(text) }, "no failure contains \"\(text)\": \(failures)")
        }
    }
}

private final class NoTransfer: Transfer {
    func cancel() {}
    func resume() {}
}

/// Calls the receiver before `start` returns.
private struct HastyTransport: Transport {
    let schemes: Set<String> = ["http"]

    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        receiver.didEnd(.failure(LoadError(.cannotConnect, stage: .fetch, message: "hasty")))
        return NoTransfer()
    }

    func shutdown() async {}
}

/// Makes the same calls on every receiver, from another thread.
private final class ThreadTransport: Transport {
    let schemes: Set<String> = ["http"]
    private let script: [@Sendable (any TransportReceiver) -> Void]
    private let threads = WorkerThreads(count: 1, name: "broken")

    init(_ script: [@Sendable (any TransportReceiver) -> Void]) {
        self.script = script
    }

    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        threads.run { [script] in for call in script { call(receiver) } }
        return NoTransfer()
    }

    func shutdown() async {
        await Bridge.wait { bridge in threads.run { bridge.open() } }
    }
}
