internal import Glibc

/// A download in its simplest form: the call returns when the bytes have arrived, and its thread is blocked meanwhile.
enum BlockingDownload {
    /// - Returns: The body, from a port of 127.0.0.1; `nil` if anything failed.
    static func body(port: UInt16, path: String) -> [UInt8]? {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard client >= 0 else { return nil }
        defer { close(client) }
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        let isConnected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe connect(client, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        let request = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
        guard isConnected, unsafe send(client, request, request.count, Int32(MSG_NOSIGNAL)) == request.count
        else { return nil }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe recv(client, &chunk, chunk.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            answer += chunk[..<count]
        }
        let end = Array("\r\n\r\n".utf8)
        guard answer.starts(with: Array("HTTP/1.1 200 ".utf8)),
            let head = answer.indices.first(where: { answer[$0...].starts(with: end) })
        else { return nil }
        return Array(answer[(head + end.count)...])
    }
}
