import Dispatch
import Glibc
import Inflight

/// A server for `GET /WIDTH/URL` over HTTP. It responds with the image of that URL, as WebP of that width.
///
/// Each request has a deadline. The service sheds load. At its limit of requests it responds with 503 and `Retry-After`
/// at once, instead of queueing work that no client will wait for. ``stop()`` finishes the accepted requests.
final class ThumbnailService: Sendable {
    let port: UInt16
    private let listener: Int32
    private let pipeline: ImagePipeline
    private let deadline: Duration
    private let queue = DispatchQueue(label: "thumbnails", attributes: .concurrent)
    private let requests = DispatchGroup()

    init(port: UInt16 = 0, maximumRequests: Int, deadline: Duration) throws {
        var configuration = ImagePipeline.Configuration()
        configuration.maximumQueuedTasks = maximumRequests
        pipeline = try ImagePipeline(configuration: configuration)
        self.deadline = deadline
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

    /// Stops accepting connections, and returns when all accepted requests have a response, at most the deadline later.
    func stop() async {
        Glibc.shutdown(listener, Int32(SHUT_RDWR))
        await withCheckedContinuation { done in requests.notify(queue: queue) { done.resume() } }
        await pipeline.shutdown(.finish)
    }

    private func serve(_ connection: Int32) {
        guard let target = Sockets.readTarget(connection), let request = request(target) else {
            return respond(connection, "400 Bad Request")
        }
        pipeline.load(request, on: .queue(queue)) { [self] _, result in
            do throws(LoadError) {
                let options = EncodeOptions(format: .webp)
                let bytes = try pipeline.codecs.encode(try result.get().pixels, options: options)
                respond(connection, "200 OK", ["Content-Type: image/webp"], bytes.withUnsafeBytes { Array($0) })
            } catch {
                let (status, fields) = Self.response(to: error)
                respond(connection, status, fields)
            }
        }
    }

    private func request(_ target: String) -> ImageRequest? {
        let parts = target.split(separator: "/", maxSplits: 1).map(String.init)
        // A client must not be able to read this machine's files.
        guard parts.count == 2, let width = Int(parts[0]), (1...2000).contains(width),
            ["http://", "https://", "data:"].contains(where: { parts[1].hasPrefix($0) })
        else { return nil }
        var request = ImageRequest(parts[1], resize: Resize(width: width))
        request.limits.totalTimeout = deadline
        request.limits.maximumBodyBytes = 20_000_000
        return request
    }

    private static func response(to error: LoadError) -> (status: String, fields: [String]) {
        switch error.code {
        case .overloaded, .originUnavailable, .shutDown: ("503 Service Unavailable", ["Retry-After: 1"])
        case .timedOut: ("504 Gateway Timeout", [])
        case .invalidURL, .invalidRequest, .unsupportedScheme: ("400 Bad Request", [])
        default: ("502 Bad Gateway", [])
        }
    }

    private func respond(_ connection: Int32, _ status: String, _ fields: [String] = [], _ body: [UInt8] = []) {
        let head = ["HTTP/1.1 \(status)", "Content-Length: \(body.count)", "Connection: close"] + fields
        Sockets.send(connection, Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
        close(connection)
        requests.leave()
    }
}
