internal import CInflightCurl
internal import Glibc
internal import InflightConcurrency
internal import InflightCore

/// The system's own resolver, for names that neither the hosts file nor DNS has. It blocks, so it runs on two threads
/// of its own. Nothing waits for these threads to end.
final class SystemResolver {
    private static let maximumWaiting = 256
    /// The system does not report how long its answers are valid.
    private static let secondsToLive = 10

    private let threads = WorkerThreads(count: 2, name: "inflight-names")
    private var waiting = 0

    /// - Returns: Whether the lookup was accepted; false if too many are waiting.
    func lookUp(_ host: String, answering mailbox: Mailbox) -> Bool {
        guard waiting < Self.maximumWaiting else { return false }
        waiting += 1
        threads.run {
            let addresses = Self.addresses(of: host)
            mailbox.post(
                .resolved(
                    host,
                    addresses.isEmpty
                        ? .notFound("the name is unknown")
                        : .found(addresses, secondsToLive: Self.secondsToLive)))
        }
        return true
    }

    func didAnswer() {
        waiting -= 1
    }

    private static func addresses(of host: String) -> [String] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [String] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let address = unsafe entry.pointee.ai_addr, let text = unsafe SocketAddress.text(address) {
                addresses.append(text)
            }
            unsafe next = entry.pointee.ai_next
        }
        return addresses
    }
}

enum SocketAddress {
    /// Returns the address without the port, or nil for families other than IPv4 and IPv6.
    static func ip(_ address: UnsafePointer<sockaddr>) -> IPAddress? {
        switch unsafe Int32(address.pointee.sa_family) {
        case AF_INET:
            return unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                unsafe withUnsafeBytes(of: address.pointee.sin_addr) { unsafe IPAddress(bytes: $0) }
            }
        case AF_INET6:
            return unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                unsafe withUnsafeBytes(of: address.pointee.sin6_addr) { unsafe IPAddress(bytes: $0) }
            }
        default: return nil
        }
    }

    /// Parses a literal address, including unusual IPv4 forms (`127.1`, `0x7f000001`) and IPv6 zones, or returns nil.
    static func parse(_ text: String) -> IPAddress? {
        var v4 = in_addr()
        if unsafe inet_aton(text.hasSuffix(".") ? String(text.dropLast()) : text, &v4) != 0 {
            return unsafe withUnsafeBytes(of: v4) { unsafe IPAddress(bytes: $0) }
        }
        var v6 = in6_addr()
        let bare = String(text.prefix { $0 != "%" })
        guard unsafe inet_pton(AF_INET6, bare, &v6) == 1 else { return nil }
        return unsafe withUnsafeBytes(of: v6) { unsafe IPAddress(bytes: $0) }
    }

    /// Returns the address without the port as text, or nil for families other than IPv4 and IPv6.
    static func text(_ address: UnsafePointer<sockaddr>) -> String? {
        guard let bytes = unsafe ip(address)?.bytes else { return nil }
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard unsafe inet_ntop(family, bytes, &buffer, socklen_t(buffer.count)) != nil else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
