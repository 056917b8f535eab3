internal import Glibc
internal import InflightConcurrency

/// A small HTTP/1.1 server on loopback, on one thread, for experiments that need real bytes over real sockets.
///
/// It answers `GET` with the response set for a path, closes the connection after each response, and can hold a
/// response back until its gate opens. It understands only the requests of this process's own clients.
final class LabServer: Sendable {
    /// One part of a response.
    enum Part: Sendable {
        case bytes([UInt8])
        case pause(Duration)
        /// Continues once ``LabServer/open(_:)`` was called with that name.
        case gate(String)
    }

    let port: UInt16
    private let loop: LabServerLoop
    private let thread = WorkerThreads(count: 1, name: "lab-source")

    init() throws(LabError) {
        loop = try LabServerLoop()
        port = loop.port
        thread.run { [loop] in loop.run() }
    }

    deinit { loop.stop() }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Sets the response for a path: status 200, the head first, then the parts in their order.
    func serve(_ path: String, _ parts: [Part]) {
        loop.serve(path, parts)
    }

    /// Releases the responses that wait at that gate, and those that reach it later.
    func open(_ gate: String) { loop.open(gate) }

    /// Blocks until that many requests have arrived in all, or until the time is over.
    ///
    /// - Returns: Whether they have arrived.
    func waitForRequests(_ count: Int, timeout: Duration) -> Bool {
        let clock = SystemClock()
        let deadline = clock.now() + timeout
        while loop.requests < count {
            if clock.now() >= deadline { return false }
            Stage(unit: .milliseconds(1)).rest()
        }
        return true
    }
}

/// The thread's side: sockets, received bytes, and bytes still to send.
// Unchecked: only the thread accesses `connections`; state that other threads access is in `shared`.
private final class LabServerLoop: @unchecked Sendable {
    private struct Shared {
        var answers: [String: [LabServer.Part]] = [:]
        var gates: Set<String> = []
        var requests = 0
        var isOver = false
    }

    private struct Connection {
        let socket: Int32
        var head: [UInt8] = []
        var parts: ArraySlice<LabServer.Part> = []
        var rest: ArraySlice<UInt8> = []
        var dueAt: MonotonicTime?
        var isAnswering = false
        var isOver = false
    }

    /// The maximum length of a request's head, in bytes. The experiments' clients send none that is longer.
    private static let longestHead = 16_384

    let port: UInt16
    private let listener: Int32
    private let wake: (reading: Int32, writing: Int32)
    private let shared = Guarded(Shared())
    private let clock = SystemClock()
    private var connections: [Connection] = []

    init() throws(LabError) {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var ends: [Int32] = [-1, -1]
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isOpen = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(listener, pointer, size) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, pointer, &size) == 0
            }
        }
        guard listener >= 0, isOpen, unsafe pipe(&ends) == 0 else {
            let code = errno
            if listener >= 0 { close(listener) }
            throw LabError("Cannot listen on a port of 127.0.0.1 (error \(code)). The experiment needs one.")
        }
        port = UInt16(bigEndian: address.sin_port)
        wake = (ends[0], ends[1])
        for descriptor in [listener] + ends {
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    deinit {
        for descriptor in [listener, wake.reading, wake.writing] { close(descriptor) }
    }

    var requests: Int { shared.withLock { $0.requests } }

    func serve(_ path: String, _ parts: [LabServer.Part]) {
        shared.withLock { $0.answers[path] = parts }
    }

    func open(_ gate: String) {
        shared.withLock { _ = $0.gates.insert(gate) }
        ring()
    }

    func stop() {
        shared.withLock { $0.isOver = true }
        ring()
    }

    private func ring() {
        var byte: UInt8 = 1
        _ = unsafe write(wake.writing, &byte, 1)
    }

    // MARK: On the thread

    func run() {
        while !shared.withLock({ $0.isOver }) {
            for index in connections.indices { advance(&connections[index]) }
            for connection in connections where connection.isOver { close(connection.socket) }
            connections.removeAll { $0.isOver }
            wait()
        }
        for connection in connections { close(connection.socket) }
    }

    private func wait() {
        let due = connections.compactMap(\.dueAt).min()
        let milliseconds = due.map { max(0, ($0 - clock.now()).saturatedNanoseconds / 1_000_000 + 1) }
        var watched = [listener, wake.reading].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        watched += connections.map { connection in
            let events = connection.rest.isEmpty ? POLLIN : POLLOUT
            // While a response waits at a gate or pauses, input on its connection is ignored.
            let isWaiting = connection.isAnswering && connection.rest.isEmpty
            return pollfd(fd: isWaiting ? -1 : connection.socket, events: Int16(events), revents: 0)
        }
        guard unsafe poll(&watched, nfds_t(watched.count), Int32(clamping: milliseconds ?? -1)) > 0 else { return }
        var bytes = [UInt8](repeating: 0, count: 256)
        if watched[1].revents != 0 { _ = unsafe read(wake.reading, &bytes, bytes.count) }
        for (index, entry) in watched.dropFirst(2).enumerated() where entry.revents != 0 {
            if !connections[index].isAnswering { receive(&connections[index]) }
        }
        guard watched[0].revents != 0 else { return }
        let socket = accept(listener, nil, nil)
        guard socket >= 0 else { return }
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        connections.append(Connection(socket: socket))
    }

    private func receive(_ connection: inout Connection) {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(connection.socket, &chunk, chunk.count, 0)
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        guard count > 0, connection.head.count + count <= Self.longestHead else {
            connection.isOver = true
            return
        }
        connection.head += chunk[..<count]
        guard connection.head.suffix(4) == Array("\r\n\r\n".utf8)[...] else { return }
        let line = String(decoding: connection.head.prefix { $0 != 13 }, as: UTF8.self)
        let path = line.split(separator: " ").dropFirst().first.map(String.init) ?? ""
        connection.isAnswering = true
        let parts = shared.withLock { shared in
            shared.requests += 1
            return shared.answers[path]
        }
        connection.parts = Self.answer(parts)
    }

    private static func answer(_ parts: [LabServer.Part]?) -> ArraySlice<LabServer.Part> {
        let length = (parts ?? []).reduce(0) { length, part in
            if case .bytes(let bytes) = part { length + bytes.count } else { length }
        }
        let status = parts == nil ? "404 Not Found" : "200 OK"
        let head = "HTTP/1.1 \(status)\r\nContent-Length: \(length)\r\nConnection: close\r\n\r\n"
        return ([.bytes(Array(head.utf8))] + (parts ?? []))[...]
    }

    /// Sends as much as possible now.
    private func advance(_ connection: inout Connection) {
        guard connection.isAnswering else { return }
        while !connection.isOver {
            if !connection.rest.isEmpty {
                let socket = connection.socket
                let count = unsafe connection.rest.withUnsafeBytes { buffer in
                    unsafe send(socket, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
                }
                if count > 0 {
                    connection.rest = connection.rest.dropFirst(count)
                } else {
                    connection.isOver = !(count < 0 && (errno == EAGAIN || errno == EINTR))
                    return
                }
                continue
            }
            guard let part = connection.parts.first else {
                connection.isOver = true
                return
            }
            switch part {
            case .bytes(let bytes): connection.rest = bytes[...]
            case .pause(let duration):
                let dueAt = connection.dueAt ?? clock.now() + duration
                connection.dueAt = dueAt
                if clock.now() < dueAt { return }
                connection.dueAt = nil
            case .gate(let name):
                if !shared.withLock({ $0.gates.contains(name) }) { return }
            }
            connection.parts = connection.parts.dropFirst()
        }
    }
}
