import Glibc
import Testing

@testable import InflightTestSupport

/// A blocking socket that sends and receives exactly what a test specifies. Reads time out after 20 seconds.
final class RawClient {
    enum Ending: Equatable {
        case end
        case reset
        case timedOut
    }

    let descriptor: Int32

    init(_ server: LoopbackServer, ipv6: Bool = false) throws {
        descriptor = try #require(Socket.connect(port: server.port, ipv6: ipv6, blocking: true))
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(descriptor)
    }

    func say(_ text: String) {
        var bytes = Array(text.utf8)
        _ = unsafe send(descriptor, &bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    func get(_ path: String, method: String = "GET", _ fields: String...) {
        say("\(method) \(path) HTTP/1.1\r\nHost: here\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
    }

    /// Reads until `count` bytes have arrived, or the connection has ended.
    func observe(_ count: Int) -> String { observe { $0.count >= count }.text }

    /// Reads to the connection's end.
    func hearAll() -> (text: String, ending: Ending?) { observe { _ in false } }

    /// Reads a head and the body that its `Content-Length` announces.
    func hearAnswer() -> String {
        observe { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            guard let end = text.range(of: "\r\n\r\n") else { return false }
            let length = text.range(of: "Content-Length: ").flatMap { found in
                Int(text[found.upperBound...].prefix { $0.isNumber })
            }
            return text[end.upperBound...].utf8.count >= (length ?? 0)
        }.text
    }

    private func observe(until isEnough: ([UInt8]) -> Bool) -> (text: String, ending: Ending?) {
        var bytes: [UInt8] = []
        var ending: Ending?
        while !isEnough(bytes) {
            var byte: UInt8 = 0
            let count = unsafe recv(descriptor, &byte, 1, 0)
            if count == 1 { bytes.append(byte); continue }
            ending = count == 0 ? .end : errno == ECONNRESET ? .reset : .timedOut
            break
        }
        return (String(decoding: bytes, as: UTF8.self), ending)
    }
}

extension String {
    /// The range of `text`, found without Foundation.
    func range(of text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].utf8.starts(with: text.utf8) {
                return start..<utf8.index(start, offsetBy: text.utf8.count)
            }
            start = utf8.index(after: start)
        }
        return nil
    }
}
