import Dispatch
import Glibc
import InflightConcurrency

/// A relay with small buffers between a client and a server: the server always has more to send than the link takes, so
/// that the order in which it sends is its own choice.
final class NarrowLink: Sendable {
    private let server: RawServer
    /// Ends the hold.
    private let hold: DispatchSemaphore
    private let traffic: Traffic

    private final class Traffic: Sendable {
        let upstreamBytes = Guarded(0)
        let moved = DispatchSemaphore(value: 0)
    }

    var connections: Int { server.connections }
    var url: String { "https://127.0.0.1:\(server.port)" }

    /// How many bytes the client has sent.
    var upstreamBytes: Int { traffic.upstreamBytes.withLock { $0 } }

    /// - Parameter limit: after so many bytes it holds what the server sends, until ``release()``.
    init(to port: Int, holdsAfter limit: Int = .max) {
        let threads = WorkerThreads(count: 8, name: "link")
        let (hold, traffic) = (DispatchSemaphore(value: 0), Traffic())
        (self.hold, self.traffic) = (hold, traffic)
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
                Self.carry(from: upstream, to: downstream) { if $0 < limit, $0 + $1 >= limit { hold.wait() } }
                isOver.signal()
            }
            Self.carry(from: downstream, to: upstream) { _, count in
                traffic.upstreamBytes.withLock { $0 += count }
                traffic.moved.signal()
            }
            isOver.wait()
            close(upstream)
        }
    }

    func release() { hold.signal() }

    /// Whether the client sends so many bytes in all.
    func waits(forUpstreamBytes count: Int) -> Bool {
        while upstreamBytes < count {
            if traffic.moved.wait(timeout: .now() + 10) == .timedOut { return false }
        }
        return true
    }

    /// - Parameter passed: hears how many bytes were carried before, and of how many more.
    private static func carry(from source: Int32, to target: Int32, _ passed: (Int, Int) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var sum = 0
        while case let count = unsafe recv(source, &buffer, buffer.count, 0), count > 0 {
            guard unsafe send(target, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
            passed(sum, count)
            sum += count
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }
}
