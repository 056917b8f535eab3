import Dispatch
import Glibc
import InflightConcurrency
import InflightTestSupport
import Testing

/// A server over TLS that answers each HTTP/2 request with frames of the test's choice, and HTTP/1.1 requests with a
/// body. Python's TLS is in front, because the test kit's own speaks no HTTP/2.
final class FrameServer: Sendable {
    enum Answer {
        /// RST_STREAM with this code (RFC 9113 section 7).
        case reset(UInt32)
        /// 200, with a body in one DATA frame and this `Content-Length`.
        case ok([UInt8], announced: Int)
        /// 200, with the beginning of a body that never ends.
        case part([UInt8])
    }

    let url: String
    private let plain: RawServer
    private let front: pid_t
    private let scratch: TemporaryDirectory
    private let streams: Guarded<Int>
    private let open: Guarded<(now: Int, peak: Int)>
    private let weights: Weights

    /// The weights of each stream.
    private final class Weights: Sendable {
        let byStream = Guarded<[UInt32: [Int]]>([:])
        let came = DispatchSemaphore(value: 0)
    }

    var caFile: String { scratch.appending("cert.pem") }
    var connections: Int { plain.connections }
    /// The largest number of connections over HTTP/2 that were open at once.
    var peakConnections: Int { open.withLock { $0.peak } }
    /// The numbers of requests over HTTP/2 and over HTTP/1.1.
    var requests: [Int] { [streams.withLock { $0 }, plain.requests] }

    convenience init(_ answer: @escaping @Sendable () -> Answer) throws {
        try self.init { _ in answer() }
    }

    /// - Parameter answer: returns the answer to a stream, given how many came before it on its connection.
    init(_ answer: @escaping @Sendable (_ position: Int) -> Answer) throws {
        let scratch = TemporaryDirectory()
        self.scratch = scratch
        try Nginx.makeCertificate(in: scratch)
        let streams = Guarded(0)
        self.streams = streams
        let open = Guarded((now: 0, peak: 0))
        self.open = open
        let weights = Weights()
        self.weights = weights
        let plain = RawServer { connection in
            guard connection.begins(with: Array("PRI * HTTP/2.0".utf8)) else {
                guard let head = connection.readHead() else { return }
                // The only request bodies of these tests.
                if head.hasPrefix("POST") { _ = connection.readBody(3) }
                return connection.reply(Array("HTTP/1.1".utf8), headers: "Connection: close\r\n")
            }
            open.withLock { $0 = ($0.now + 1, max($0.peak, $0.now + 1)) }
            defer { open.withLock { $0.now -= 1 } }
            var position = -1
            Self.serve(connection) {
                streams.withLock { $0 += 1 }
                position += 1
                return answer(position)
            } onWeight: { stream, weight in
                weights.byStream.withLock { $0[stream, default: []].append(weight) }
                weights.came.signal()
            }
        }
        self.plain = plain
        let port = Nginx.freePort()
        url = "https://127.0.0.1:\(port)"
        front = try Nginx.run(
            "python3",
            [
                "-c", Self.program, scratch.appending("cert.pem"), scratch.appending("key.pem"), String(port),
                String(plain.port),
            ])
        try Nginx.wait(for: front, listeningAt: port)
    }

    deinit {
        kill(front, SIGKILL)
        _ = Nginx.wait(for: front)
    }

    /// Returns the weights of each stream, in the order in which they were sent, as soon as there are `count` in total,
    /// or if none has come for 10 s.
    func weights(count: Int) -> [[Int]] {
        while true {
            let known = weights.byStream.withLock { $0 }
            if known.values.reduce(0, { $0 + $1.count }) >= count
                || weights.came.wait(timeout: .now() + 10) == .timedOut
            {
                return known.sorted { $0.key < $1.key }.map(\.value)
            }
        }
    }

    private static func serve(
        _ connection: RawConnection, _ answer: () -> Answer, onWeight: (UInt32, Int) -> Void
    ) {
        _ = connection.readBody(24)
        connection.send(frame(4, flags: 0, stream: 0, []))
        while true {
            let head = connection.readBody(9)
            guard head.count == 9 else { return }
            let payload = connection.readBody(Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2]))
            let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            // PRIORITY, and HEADERS with its flag (RFC 7540 sections 6.2 and 6.3); libcurl pads neither. Before the
            // first request, libcurl 7.88 sends PRIORITY for stream 0xFFFFFFFF, its number for none.
            if head[3] == 2 || (head[3] == 1 && head[4] & 0x20 != 0), payload.count >= 5, stream != .max {
                onWeight(stream, Int(payload[4]) + 1)
            }
            if head[3] == 4, head[4] & 1 == 0 { connection.send(frame(4, flags: 1, stream: 0, [])) }
            guard head[3] == 1 else { continue }
            switch answer() {
            case .reset(let code): connection.send(frame(3, flags: 0, stream: stream, bytes(code)))
            case .ok(let body, let announced): connection.send(response(body, announced: announced, on: stream))
            case .part(let body):
                connection.send(frame(1, flags: 4, stream: stream, [0x88]) + frame(0, flags: 0, stream: stream, body))
            }
        }
    }

    /// Returns HEADERS, with fields that are not indexed (RFC 7541 section 6.2.2), and DATA.
    private static func response(_ body: [UInt8], announced: Int, on stream: UInt32) -> [UInt8] {
        let (name, value) = (Array("content-length".utf8), Array(String(announced).utf8))
        let fields = [0x88, 0, UInt8(name.count)] + name + [UInt8(value.count)] + value
        return frame(1, flags: 4, stream: stream, fields) + frame(0, flags: 1, stream: stream, body)
    }

    private static func frame(_ type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        Array(bytes(UInt32(payload.count)).dropFirst()) + [type, flags] + bytes(stream) + payload
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

    private static let program = """
        import select, socket, ssl, sys, threading
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        context.set_alpn_protocols(["h2", "http/1.1"])
        def serve(raw):
            tls = plain = None
            try:
                tls = context.wrap_socket(raw, server_side=True)
                plain = socket.create_connection(("127.0.0.1", int(sys.argv[4])))
                while True:
                    ready = [tls] if tls.pending() else select.select([tls, plain], [], [])[0]
                    for source, target in (tls, plain), (plain, tls):
                        if source in ready:
                            data = source.recv(65536)
                            if not data: return
                            target.sendall(data)
            except OSError: pass
            finally:
                for end in tls or raw, plain:
                    if end: end.close()
        listener = socket.create_server(("127.0.0.1", int(sys.argv[3])), backlog=128)
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """
}
