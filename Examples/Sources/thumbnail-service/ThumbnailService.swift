import Dispatch
import Glibc
import Inflight
import Synchronization

/// A server for `GET /WIDTH/URL` over HTTP. It responds with the image of that URL, as WebP of that width. Prometheus
/// reads its metrics from `/metrics`.
///
/// Each request has a deadline, which includes its reading, its retries, its decoding, and its place in a queue. The
/// service sheds load. At its limit of requests it responds with 503 and `Retry-After` at once, instead of queueing work
/// that no client will wait for. ``stop()`` finishes the accepted requests.
final class ThumbnailService: Sendable {
    let port: UInt16
    private let listener: Int32
    private let pipeline: ImagePipeline
    private let meter = Meter()
    private let secondsPerRequest: Double
    private let queue = DispatchQueue(label: "thumbnails", attributes: .concurrent)
    private let requests = DispatchGroup()

    /// - Parameter addresses: the addresses that origins may have. If any may be loaded, clients can read from servers
    ///   of the service's own network.
    init(
        port: UInt16 = 0, maximumRequests: Int, secondsPerRequest: Double, addresses: AddressPolicy = .publicOnly
    ) throws {
        var transport = CurlTransport.Configuration()
        transport.addressPolicy = addresses
        var configuration = ImagePipeline.Configuration(curl: transport)
        configuration.maximumQueuedTasks = maximumRequests
        configuration.observer = .init(meter, on: .queue(DispatchQueue(label: "metrics")))
        pipeline = try ImagePipeline(configuration: configuration)
        self.secondsPerRequest = secondsPerRequest
        (listener, self.port) = try Sockets.listen(port)
    }

    /// Accepts connections until ``stop()``. Blocks.
    func run() {
        while let connection = Sockets.accept(listener) {
            requests.enter()
            queue.async { self.serve(connection) }
        }
        close(listener)
    }

    /// Stops accepting connections, and returns when all accepted requests have a response: at most a second after the
    /// last one's deadline.
    func stop() async {
        Glibc.shutdown(listener, Int32(SHUT_RDWR))
        await withCheckedContinuation { done in requests.notify(queue: queue) { done.resume() } }
        await pipeline.shutdown(.finish)
    }

    private func serve(_ connection: Int32) {
        let deadline = DispatchTime.now() + secondsPerRequest
        let target = Sockets.readTarget(connection, until: deadline)
        if target == "/metrics" { return respond(connection, metrics, until: deadline) }
        guard let target, var request = request(target) else {
            return respond(connection, Response("400 Bad Request"), until: deadline)
        }
        let left = Int64(deadline.uptimeNanoseconds) - Int64(DispatchTime.now().uptimeNanoseconds)
        request.deadline = .nanoseconds(max(0, left))
        Task { [request] in
            let response = await response(to: request)
            queue.async { self.respond(connection, response, until: deadline) }
        }
    }

    private func response(to request: ImageRequest) async -> Response {
        do throws(LoadError) {
            let file = try await pipeline.encoded(for: request, as: EncodeOptions(format: .webp))
            var fields = ["Content-Type: image/\(file.format)"]
            if let time = file.freshness { fields.append("Cache-Control: max-age=\(time.components.seconds)") }
            if let tag = file.entityTag { fields.append("ETag: \(tag)") }
            return Response("200 OK", fields, file.bytes.withUnsafeBytes { Array($0) })
        } catch {
            return Self.response(to: error)
        }
    }

    private var metrics: Response {
        let text = pipeline.statistics.openMetrics(with: meter.metrics)
        let type = "application/openmetrics-text; version=1.0.0; charset=utf-8"
        return Response("200 OK", ["Content-Type: \(type)"], Array(text.utf8))
    }

    private func request(_ target: String) -> ImageRequest? {
        let parts = target.split(separator: "/", maxSplits: 1).map(String.init)
        // A client must not be able to read this machine's files.
        guard parts.count == 2, let width = Int(parts[0]), (1...2000).contains(width),
            ["http://", "https://", "data:"].contains(where: { parts[1].hasPrefix($0) })
        else { return nil }
        var request = ImageRequest(parts[1], resize: Resize(width: width))
        request.limits.maximumBodyBytes = 20_000_000
        return request
    }

    private struct Response {
        var status: String
        var fields: [String]
        var body: [UInt8]

        init(_ status: String, _ fields: [String] = [], _ body: [UInt8] = []) {
            (self.status, self.fields, self.body) = (status, fields, body)
        }
    }

    private static func response(to error: LoadError) -> Response {
        switch error.code {
        case .overloaded, .originUnavailable, .shutDown: Response("503 Service Unavailable", ["Retry-After: 1"])
        case .timedOut, .deadlineExceeded: Response("504 Gateway Timeout")
        case .invalidURL, .invalidRequest, .unsupportedScheme: Response("400 Bad Request")
        case .addressNotAllowed: Response("403 Forbidden")
        default: Response("502 Bad Gateway")
        }
    }

    private func respond(_ connection: Int32, _ response: Response, until deadline: DispatchTime) {
        let length = "Content-Length: \(response.body.count)"
        let head = ["HTTP/1.1 \(response.status)", length, "Connection: close"] + response.fields
        let bytes = Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + response.body
        Sockets.send(connection, bytes, until: deadline + 1)
        close(connection)
        requests.leave()
    }
}

/// Counts a pipeline's events.
private final class Meter: ImagePipeline.Observer {
    private let counted = Mutex(ImagePipeline.Metrics())

    var metrics: ImagePipeline.Metrics { counted.withLock { $0 } }

    func didObserve(_ events: [ImagePipeline.Event], dropped: Int) {
        counted.withLock { for event in events { $0.record(event) } }
    }
}
