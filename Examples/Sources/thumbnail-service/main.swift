// A thumbnail service over HTTP with deadlines, load shedding, and graceful shutdown on SIGTERM.
//
//     thumbnail-service PORT        then: curl -o cat.webp localhost:PORT/320/https://example.org/cat.jpg
//
// Origins have public addresses, with `thumbnail-service PORT any` any address. Without a port it runs its own clients
// and a slow origin.

import Dispatch
import Glibc
import Inflight

/// Serves until SIGTERM, then finishes the accepted requests.
func serve(port: UInt16?, addresses: AddressPolicy) async throws {
    let service = try ThumbnailService(
        port: port ?? 0, maximumRequests: port == nil ? 2 : 64, secondsPerRequest: port == nil ? 3 : 10,
        addresses: addresses)
    signal(SIGTERM, SIG_IGN)
    let signals = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    let (terminated, stream) = AsyncStream.makeStream(of: Void.self)
    signals.setEventHandler { stream.finish() }
    signals.resume()
    DispatchQueue(label: "accept").async { service.run() }
    let clients = Task.detached {
        if port == nil { try playClients(of: service.port) }
    }
    for await _ in terminated {}
    signals.cancel()
    await service.stop()
    try await clients.value
    print("stopped")
}

func playClients(of service: UInt16) throws {
    // A GIF of two by two pixels.
    let gif: [UInt8] = [
        71, 73, 70, 56, 57, 97, 2, 0, 2, 0, 128, 0, 0, 255, 0, 0, 0, 0, 255, 44,
        0, 0, 0, 0, 2, 0, 2, 0, 0, 2, 3, 4, 0, 5, 0, 59,
    ]
    let url = "data:image/gif," + gif.map { "%\($0 < 16 ? "0" : "")\(String($0, radix: 16))" }.joined()
    print("an image:", try answer(Sockets.get(service, "/2/\(url)")))
    print("no image:", try answer(Sockets.get(service, "/2/data:,text")))
    print("a file:", try answer(Sockets.get(service, "/2/file:///etc/hostname")))
    print("metrics:", try metric("successes_total{source=\"data\"}", of: service))

    // Two requests whose origin has not responded yet bring the service to its limit.
    let origin = try Sockets.listen(0)
    let slow = try ["early", "late"].map { name in
        try Sockets.get(service, "/2/http://127.0.0.1:\(origin.port)/\(name)")
    }
    var waiting: [String: Int32] = [:]
    for _ in slow {
        guard let connection = Sockets.accept(origin.descriptor) else { return }
        waiting[Sockets.readTarget(connection) ?? ""] = connection
    }
    // A client that sends nothing is not waited for longer than others. Connections are accepted in order, so the
    // response to the next one shows that this one was accepted, too.
    let silent = try Sockets.connect(service)
    print("one too many:", try answer(Sockets.get(service, "/1/\(url)")))

    // On SIGTERM the service responds to every request that it has accepted, in time or with an error.
    kill(getpid(), SIGTERM)
    if let early = waiting["/early"] {
        Sockets.send(early, Array("HTTP/1.1 200 OK\r\nContent-Length: \(gif.count)\r\n\r\n".utf8) + gif)
    }
    for (name, connection) in zip(["in time:", "too late:"], slow) { print(name, answer(connection)) }
    print("silent:", answer(silent))
}

/// Returns the line with this metric.
func metric(_ name: String, of service: UInt16) throws -> Substring {
    let connection = try Sockets.get(service, "/metrics")
    defer { close(connection) }
    let lines = String(decoding: Sockets.read(connection), as: UTF8.self).split(separator: "\n")
    return lines.first { $0.hasPrefix("inflight_\(name)") } ?? "none"
}

/// Returns the status of a response, and its `Retry-After` field if it has one.
func answer(_ connection: Int32) -> String {
    let head = String(decoding: Sockets.read(connection), as: UTF8.self).split(separator: "\r\n")
    close(connection)
    let retry = head.first { $0.hasPrefix("Retry-After") }.map { ", \($0)" } ?? ""
    return (head.first.map { String($0.dropFirst("HTTP/1.1 ".count)) } ?? "nothing") + retry
}

let port = CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) }
try await serve(port: port, addresses: port == nil || CommandLine.arguments.last == "any" ? .any : .publicOnly)

// Prints:
// an image: 200 OK
// no image: 502 Bad Gateway
// a file: 400 Bad Request
// metrics: inflight_successes_total{source="data"} 1
// one too many: 503 Service Unavailable, Retry-After: 1
// in time: 200 OK
// too late: 504 Gateway Timeout
// silent: 400 Bad Request
// stopped
