import Glibc
import InflightConcurrency

/// A DNS server on loopback. It resolves known names to one IPv4 address, reports that `missing.…` does not exist, and
/// never responds to any other name.
final class FakeNameServer: Sendable {
    let address: String
    private let descriptor: Int32
    private let threads = WorkerThreads(count: 1, name: "name-server")
    private let asked = Guarded([String]())

    /// The queried names, one for each query.
    var questions: [String] { asked.withLock { $0 } }

    init(knows addresses: [String: [UInt8]] = [:], secondsToLive: UInt8 = 60) {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                precondition(unsafe bind(descriptor, $0, length) == 0)
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        self.descriptor = descriptor
        self.address = "127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
        threads.run { [asked] in
            var query = [UInt8](repeating: 0, count: 1500)
            while true {
                var peer = sockaddr_storage()
                var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
                let count = unsafe withUnsafeMutablePointer(to: &peer) { pointer in
                    unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        unsafe recvfrom(descriptor, &query, query.count, 0, $0, &length)
                    }
                }
                // A datagram of one byte signals the end.
                guard count > 12 else { return }
                let (name, end) = Self.name(in: query)
                asked.withLock { $0.append(name) }
                guard
                    let answer = Self.answer(
                        Array(query[..<end]), name, addresses[name], isIPv4: query[end - 3] == 1, secondsToLive)
                else { continue }
                unsafe withUnsafePointer(to: &peer) { pointer in
                    _ = unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        unsafe sendto(descriptor, answer, answer.count, 0, $0, length)
                    }
                }
            }
        }
    }

    deinit {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
            _ = unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
                return unsafe sendto(descriptor, [0], 1, 0, $0, length)
            }
        }
    }

    /// Returns the name of the first question and the offset at which the question ends.
    private static func name(in query: [UInt8]) -> (String, Int) {
        var labels: [String] = []
        var position = 12
        while query[position] != 0 {
            let count = Int(query[position])
            labels.append(String(decoding: query[position + 1...position + count], as: UTF8.self))
            position += count + 1
        }
        return (labels.joined(separator: "."), position + 5)
    }

    private static func answer(
        _ question: [UInt8], _ name: String, _ address: [UInt8]?, isIPv4: Bool, _ secondsToLive: UInt8
    ) -> [UInt8]? {
        var reply = question
        reply[2] = 0x81
        reply[3] = name.hasPrefix("missing.") ? 0x83 : 0x80
        reply.replaceSubrange(6..<12, with: [0, 0, 0, 0, 0, 0])
        if name.hasPrefix("missing.") { return reply }
        guard let address else { return nil }
        if isIPv4 {
            reply[7] = 1
            reply += [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, secondsToLive, 0, 4] + address
        }
        return reply
    }
}
