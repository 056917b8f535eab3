import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// Accepts everything, and records its name when its exchange ends.
private protocol Receiver: TransportReceiver {
    var name: String { get }
    var told: Guarded<[String]> { get }
}

extension Receiver {
    func didReceive(interim head: ResponseHead) {}
    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition { .proceed }
    func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition { .proceed }
    func didEnd(_ result: Result<TransportSummary, LoadError>) { told.withLock { $0.append(name) } }
}

@Suite("Transports: batched endings", .timeLimit(.minutes(10)))
struct TransportEndingTests {
    /// Receives each ending separately.
    private final class Single: Receiver {
        let name: String
        let told: Guarded<[String]>

        init(_ name: String, _ told: Guarded<[String]>) {
            self.name = name
            self.told = told
        }
    }

    /// Receives several endings in one call.
    private final class Batching: Receiver {
        let name: String
        let told: Guarded<[String]>

        init(_ name: String, _ told: Guarded<[String]>) {
            self.name = name
            self.told = told
        }

        static func didEnd(_ endings: [TransportEnding]) {
            let receivers = endings.compactMap { $0.receiver as? Batching }
            receivers.first?.told.withLock { $0.append(receivers.map(\.name).joined(separator: "+")) }
        }
    }

    private func tell(_ receivers: [any TransportReceiver]) {
        TransportEnding.deliver(
            receivers.map {
                TransportEnding(receiver: $0, result: .success(TransportSummary(wireBytes: 0, bodyBytes: 0)))
            })
    }

    @Test("Receivers of a type without batching receive their endings one after the other")
    func single() {
        let told = Guarded([String]())
        tell([Single("a", told), Single("b", told)])
        tell([])
        #expect(told.withLock { $0 } == ["a", "b"])
    }

    @Test("Receivers of a batching type receive their endings in one call, in order")
    func together() {
        let told = Guarded([String]())
        tell([Batching("a", told), Batching("b", told), Batching("c", told)])
        #expect(told.withLock { $0 } == ["a+b+c"])
    }

    @Test("Receivers of mixed types receive their own endings, in order")
    func mixed() {
        let told = Guarded([String]())
        tell([Batching("a", told), Single("b", told), Batching("c", told)])
        #expect(told.withLock { $0 } == ["a", "b", "c"])
    }

    /// Ends all running exchanges together.
    private final class Together: Transport {
        private let waiting = Guarded([(TransportRequest, any TransportReceiver)]())

        private final class Handle: Transfer {
            func cancel() {}
            func resume() {}
        }

        var schemes: Set<String> { ["http"] }

        func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
            waiting.withLock { $0.append((request, receiver)) }
            return Handle()
        }

        func shutdown() async {}

        /// Completes the pending exchanges and returns their number.
        func endAll() -> Int {
            let now = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            let endings = now.map { request, receiver in
                let path = request.url.path
                if path.hasPrefix("/lost") {
                    let error = LoadError(.cannotConnect, stage: .fetch, message: "It is gone.")
                    return TransportEnding(receiver: receiver, result: .failure(error))
                }
                var head = ResponseHead(status: 200)
                if path.hasPrefix("/moved") {
                    head.status = 302
                    head.fields.append("Location", "http://other.example/found")
                }
                _ = receiver.didReceive(head, expectedBytes: nil)
                let body = Array(request.url.string.utf8)
                _ = unsafe body.withUnsafeBytes { unsafe receiver.didReceive($0, at: 0) }
                let count = Int64(body.count)
                return TransportEnding(
                    receiver: receiver, result: .success(TransportSummary(wireBytes: count, bodyBytes: count)))
            }
            TransportEnding.deliver(endings)
            return now.count
        }
    }

    @Test("Pipelines that share a transport each receive their own results, errors, redirects and slots")
    func pipelines() throws {
        let transport = Together()
        let queue = ManualQueue()
        let heard = Guarded([String: String]())
        let pipelines = try (0..<2).map { _ in
            var configuration = ImagePipeline.Configuration(transports: [.shared(transport)], codecs: CodecRegistry([]))
            configuration.maximumConcurrentFetches = 3
            configuration.memoryCache.reactsToMemoryPressure = false
            return try ImagePipeline(configuration: configuration)
        }
        for (index, pipeline) in pipelines.enumerated() {
            for path in ["a", "lost", "moved", "b", "c"] {
                let url = "http://host.example/\(path)\(index)"
                pipeline.loadResponse(ImageRequest(url), on: .executor(queue)) { _, result in
                    let text =
                        switch result {
                        case .success(let response): String(decoding: response.body.array, as: UTF8.self)
                        case .failure(let error): error.code.rawValue
                        }
                    heard.withLock { $0[url] = text }
                }
            }
        }
        #expect(transport.endAll() == 6)
        // From each pipeline: the redirected request, and the two that waited for a slot.
        #expect(transport.endAll() == 6)
        #expect(transport.endAll() == 0)
        queue.runAll()
        var expected: [String: String] = [:]
        for index in 0..<2 {
            for path in ["a", "b", "c"] {
                expected["http://host.example/\(path)\(index)"] = "http://host.example/\(path)\(index)"
            }
            expected["http://host.example/lost\(index)"] = "cannotConnect"
            expected["http://host.example/moved\(index)"] = "http://other.example/found"
        }
        #expect(heard.withLock { $0 } == expected)
    }
}
