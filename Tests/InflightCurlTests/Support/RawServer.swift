import Glibc
import InflightConcurrency

/// A server for bytes that no server should send: a script handles each connection on its own thread.
final class RawServer: Sendable {
    let port: Int
    private let listener: Int32
    private let threads = WorkerThreads(count: 64, name: "raw-server")
    private let counters = Guarded(Counters())

    struct Counters {
        var connections = 0
        var requests = 0
        /// The connections that the server has seen end.
        var closed = 0
    }

    var connections: Int { counters.withLock { $0.connections } }
    var requests: Int { counters.withLock { $0.requests } }
    var url: String { "http://127.0.0.1:\(port)" }

    init(_ script: @escaping @Sendable (RawConnection) -> Void) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                precondition(unsafe bind(listener, $0, length) == 0)
                unsafe getsockname(listener, $0, &length)
            }
        }
        precondition(listen(listener, 128) == 0)
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        threads.run { [threads, counters] in
            while true {
                let descriptor = accept(listener, nil, nil)
                if descriptor < 0 {
                    // Only this thread closes the listener. Otherwise this loop could accept from a descriptor that
                    // reuses its number.
                    close(listener)
                    return
                }
                counters.withLock { $0.connections += 1 }
                threads.run {
                    let connection = RawConnection(descriptor: descriptor) { counters.withLock { $0.requests += 1 } }
                    script(connection)
                    connection.close()
                    counters.withLock { $0.closed += 1 }
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
    }
}

/// One connection of a ``RawServer``, used only by its script.
final class RawConnection {
    let descriptor: Int32
    private let didRead: () -> Void
    private var buffer: [UInt8] = []
    private var isOpen = true

    init(descriptor: Int32, didRead: @escaping () -> Void) {
        self.descriptor = descriptor
        self.didRead = didRead
    }

    /// Returns the head of the next request, or `nil` if the client has closed the connection.
    func readHead() -> String? {
        while true {
            if let end = buffer.firstRange(of: Array("\r\n\r\n".utf8)) {
                let head = String(decoding: buffer[..<end.upperBound], as: UTF8.self)
                buffer.removeSubrange(..<end.upperBound)
                didRead()
                return head
            }
            guard readMore() else { return nil }
        }
    }

    func readBody(_ count: Int) -> [UInt8] {
        while buffer.count < count, readMore() {}
        defer { buffer.removeFirst(min(count, buffer.count)) }
        return Array(buffer.prefix(count))
    }

    /// Returns whether the client's next bytes are these.
    func begins(with bytes: [UInt8]) -> Bool {
        while buffer.count < bytes.count, readMore() {}
        return buffer.starts(with: bytes)
    }

    /// Waits until bytes arrive.
    func waitForBytes() {
        if buffer.isEmpty { _ = readMore() }
    }

    /// Waits until the client closes the connection.
    func waitForClose() {
        while readMore() {}
    }

    private func readMore() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65536)
        let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        buffer += chunk[..<count]
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Returns `false` if the client has closed the connection.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    func reply(_ body: [UInt8], headers: String = "", status: String = "200 OK") {
        send("HTTP/1.1 \(status)\r\nContent-Length: \(body.count)\r\n\(headers)\r\n")
        send(body)
    }

    /// Closes the connection with RST instead of FIN.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        close()
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        Glibc.close(descriptor)
    }
}
