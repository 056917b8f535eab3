import Dispatch
import Glibc
import InflightConcurrency

/// A relay with small buffers between a client and a server. The server always has more to send than the link accepts,
/// so the server alone decides the order in which it sends. The test decides how much the link carries, because a
/// client's socket may accept many bytes before the client reads them.
final class ThrottledLink: Sendable {
    private let server: RawServer
    private let traffic: Traffic

    private final class Traffic: Sendable {
        let upstreamBytes = Guarded(0)
        let moved = DispatchSemaphore(value: 0)
        /// The number of the server's bytes to carry.
        let limit: Guarded<Int>
        let raised = DispatchSemaphore(value: 0)

        init(limit: Int) { self.limit = Guarded(limit) }

        func waitBeyond(_ sum: Int) { while sum >= limit.withLock({ $0 }) { raised.wait() } }
    }

    var connections: Int { server.connections }
    var url: String { "https://127.0.0.1:\(server.port)" }

    /// The number of bytes that the client has sent.
    var upstreamBytes: Int { traffic.upstreamBytes.withLock { $0 } }

    /// - Parameter limit: The number of the server's bytes after which the link holds them until ``carry(_:)``.
    init(to port: Int, holdsAfter limit: Int) {
        let threads = WorkerThreads(count: 8, name: "link")
        let traffic = Traffic(limit: limit)
        self.traffic = traffic
        server = RawServer { client in
            let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var size: Int32 = 8192
            unsafe setsockopt(upstream, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
            address.sin_port = in_port_t(port).bigEndian
            unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    precondition(unsafe connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0)
                }
            }
            let downstream = client.descriptor
            let isOver = DispatchSemaphore(value: 0)
            threads.run {
                Self.carry(from: upstream, to: downstream, before: traffic.waitBeyond)
                isOver.signal()
            }
            Self.carry(
                from: downstream, to: upstream,
                after: { count in
                    traffic.upstreamBytes.withLock { $0 += count }
                    traffic.moved.signal()
                })
            isOver.wait()
            close(upstream)
        }
    }

    /// Carries the server's bytes up to `limit` in total.
    func carry(_ limit: Int) {
        traffic.limit.withLock { $0 = limit }
        traffic.raised.signal()
    }

    /// Returns whether the client sends `count` bytes in total, with no pause of 10 s.
    func waits(forUpstreamBytes count: Int) -> Bool {
        while upstreamBytes < count {
            if traffic.moved.wait(timeout: .now() + 10) == .timedOut { return false }
        }
        return true
    }

    /// - Parameters:
    ///   - before: Called before bytes are forwarded, with the number of bytes forwarded so far.
    ///   - after: Called after bytes were forwarded, with their number.
    private static func carry(
        from source: Int32, to target: Int32, before: (Int) -> Void = { _ in }, after: (Int) -> Void = { _ in }
    ) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var sum = 0
        while case let count = unsafe recv(source, &buffer, buffer.count, 0), count > 0 {
            before(sum)
            guard unsafe send(target, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
            sum += count
            after(count)
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }
}
