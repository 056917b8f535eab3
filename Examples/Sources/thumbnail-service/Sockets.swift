import Dispatch
import Glibc

/// The few socket calls that a service and its clients need; all of them block, at most until their deadline.
enum Sockets {
    struct Failure: Error { let code = errno }

    /// Listens on the loopback address.
    ///
    /// - Parameter port: the port, or 0 to let the system choose one.
    static func listen(_ port: UInt16) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = loopback(port)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withAddress(&address) { bind(descriptor, $0, size) }
        guard descriptor >= 0, status == 0, Glibc.listen(descriptor, 128) == 0 else { throw Failure() }
        guard withAddress(&address, { getsockname(descriptor, $0, &size) }) == 0 else { throw Failure() }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// Returns the next connection, or nil once the listener is shut down.
    static func accept(_ listener: Int32) -> Int32? {
        while true {
            let connection = Glibc.accept(listener, nil, nil)
            if connection >= 0 { return connection }
            guard [EINTR, ECONNABORTED, EMFILE, ENFILE].contains(errno) else { return nil }
        }
    }

    /// Connects to a port of this machine and sends a GET request.
    static func get(_ port: UInt16, _ target: String) throws -> Int32 {
        let descriptor = try connect(port)
        send(descriptor, Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        return descriptor
    }

    /// Connects to a port of this machine.
    static func connect(_ port: UInt16) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = loopback(port)
        let status = withAddress(&address) { Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        guard descriptor >= 0, status == 0 else { throw Failure() }
        return descriptor
    }

    /// Sends all bytes, or as many as the other side takes until the deadline.
    static func send(_ connection: Int32, _ bytes: [UInt8], until deadline: DispatchTime = .now() + 5) {
        var sent = 0
        while sent < bytes.count, limit(SO_SNDTIMEO, of: connection, to: deadline) {
            let count = bytes.withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            sent += count
        }
    }

    /// Reads until the bytes end with `end`, the other side closes, the deadline, or until `maximum` is reached.
    static func read(
        _ connection: Int32, to end: String = "", maximum: Int = 1 << 20, until deadline: DispatchTime = .now() + 10
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while bytes.count < maximum, end.isEmpty || !bytes.suffix(end.utf8.count).elementsEqual(end.utf8),
            limit(SO_RCVTIMEO, of: connection, to: deadline)
        {
            let count = recv(connection, &piece, piece.count, 0)
            if count <= 0 { break }
            bytes += piece.prefix(count)
        }
        return bytes
    }

    /// Returns the target of a GET request, or nil for anything else and for a request that is late.
    static func readTarget(_ connection: Int32, until deadline: DispatchTime = .now() + 10) -> String? {
        let bytes = read(connection, to: "\r\n\r\n", maximum: 16 * 1024, until: deadline)
        let words = String(decoding: bytes, as: UTF8.self).prefix { $0 != "\r\n" }.split(separator: " ")
        return words.count == 3 && words[0] == "GET" ? String(words[1]) : nil
    }

    /// Limits the next call to the time until the deadline, and returns whether any is left.
    private static func limit(_ option: Int32, of connection: Int32, to deadline: DispatchTime) -> Bool {
        let now = DispatchTime.now()
        guard now < deadline else { return false }
        // At least a microsecond, because a limit of 0 is none.
        let microseconds = max(1, Int((deadline.uptimeNanoseconds - now.uptimeNanoseconds) / 1000))
        var time = timeval(tv_sec: microseconds / 1_000_000, tv_usec: microseconds % 1_000_000)
        return setsockopt(connection, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size)) == 0
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }

    private static func withAddress(
        _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Int32
    ) -> Int32 {
        withUnsafeMutablePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
    }
}
