import Dispatch
import Inflight
import InflightConcurrency
import InflightCore

/// Writes the HTTP exchanges of a run into a file in HAR 1.2 (HTTP Archive), each when it has ended, so that a long run
/// needs no memory for them.
// Unchecked: mutable state is accessed only on `queue`.
final class HARLog: @unchecked Sendable {
    private static let chunkBytes = 1 << 16

    private let queue = DispatchQueue(label: "inflight.har")
    private let file: AtomicFile
    private let redaction: Redaction
    private var bytes: [UInt8]
    private var isFirst = true
    private var failure: SystemError?

    init(_ file: AtomicFile, _ redaction: Redaction) {
        self.file = file
        self.redaction = redaction
        let words = Version.text.split(separator: " ")
        var creator = JSONWriter()
        creator.add("name", String(words[0]))
        creator.add("version", words.dropFirst().joined(separator: " "))
        bytes =
            Array("{\"log\":{\"version\":\"1.2\",\"creator\":".utf8) + creator.object + Array(",\"entries\":[\n".utf8)
    }

    /// Adds an exchange that has ended. May be called from any thread; returns at once.
    func add(_ exchange: HARExchange) {
        queue.async { [self] in
            guard failure == nil else { return }
            if !isFirst { bytes += ",\n".utf8 }
            isFirst = false
            bytes += exchange.entry(redaction)
            if bytes.count >= Self.chunkBytes { write() }
        }
    }

    private func write() {
        do throws(SystemError) {
            try file.append(bytes)
        } catch {
            failure = error
        }
        bytes.removeAll(keepingCapacity: true)
    }

    /// Completes the file. Call it after the pipeline's shutdown.
    func finish() throws(SystemError) {
        let failure = queue.sync { () -> SystemError? in
            bytes += "\n]}}\n".utf8
            if self.failure == nil { write() }
            return self.failure
        }
        if let failure { throw failure }
        try file.finish()
    }
}

extension ImagePipeline.Configuration.TransportSource {
    /// Returns this transport with a log of its exchanges if it serves HTTP, and otherwise unchanged.
    func logged(by log: HARLog) -> Self {
        @Sendable func logged(_ transport: any Transport) -> any Transport {
            transport.schemes.contains("http") ? LoggedTransport(transport: transport, log: log) : transport
        }
        return switch self {
        case .owned(let make): .owned { configuration throws(LoadError) in logged(try make(configuration)) }
        case .shared(let transport): .shared(logged(transport))
        }
    }
}

/// A transport whose exchanges are added to a log.
private struct LoggedTransport: Transport {
    let transport: any Transport
    let log: HARLog

    var schemes: Set<String> { transport.schemes }

    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        let receiver = LoggedReceiver(receiver, of: request, log)
        var request = request
        request.wantsTimings = true
        return transport.start(request, receiver: receiver)
    }

    func isPublicSuffix(_ domain: String) -> Bool? { transport.isPublicSuffix(domain) }

    func shutdown() async { await transport.shutdown() }
}

/// Records one exchange on its way to the receiver of the engine.
// Unchecked: `exchange` is accessed only by the calls of the transport, which come one at a time.
private final class LoggedReceiver: TransportReceiver, @unchecked Sendable {
    private let receiver: any TransportReceiver
    private let log: HARLog
    private let clock = SystemClock()
    private let start: MonotonicTime
    private var exchange: HARExchange

    init(_ receiver: any TransportReceiver, of request: TransportRequest, _ log: HARLog) {
        self.receiver = receiver
        self.log = log
        start = clock.now()
        exchange = HARExchange(request: request, startedAt: clock.secondsSince1970())
    }

    func didReceive(_ timings: TransportTimings) {
        exchange.timings = timings
        if exchange.request.wantsTimings { receiver.didReceive(timings) }
    }

    func didReceive(interim head: ResponseHead) { receiver.didReceive(interim: head) }

    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition {
        exchange.head = head
        exchange.headAt = clock.now() - start
        return receiver.didReceive(head, expectedBytes: expectedBytes)
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition {
        exchange.receivedBytes = offset + Int64(bytes.count)
        return unsafe receiver.didReceive(bytes, at: offset)
    }

    func didReceive(trailers: HTTPFields) { receiver.didReceive(trailers: trailers) }

    func didEnd(_ result: Result<TransportSummary, LoadError>) {
        exchange.endedAt = clock.now() - start
        switch result {
        case .success(let summary): exchange.summary = summary
        case .failure(let error): exchange.error = error
        }
        log.add(exchange)
        receiver.didEnd(result)
    }
}
