internal import CInflightCurl
internal import InflightConcurrency

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The system's own look-up, for names that neither the hosts file nor DNS has: it blocks, so it has two threads of
/// its own, which nobody waits for.
final class SystemResolver {
    private static let maximumWaiting = 256
    /// The system does not say how long its answers are good.
    private static let secondsToLive = 10

    private let threads = WorkerThreads(count: 2, name: "inflight-names")
    private var waiting = 0

    /// - Returns: `false` where so many names wait already that this one is given up.
    func lookUp(_ host: String, answering mailbox: Mailbox) -> Bool {
        guard waiting < Self.maximumWaiting else { return false }
        waiting += 1
        threads.run {
            let addresses = Self.addresses(of: host)
            mailbox.post(
                .named(
                    host,
                    addresses.isEmpty
                        ? .notFound("no source of names has it")
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
    /// The address alone, without port; `nil` for other families than IPv4 and IPv6.
    static func text(_ address: UnsafePointer<sockaddr>) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = unsafe Int32(address.pointee.sa_family)
        let isWritten: Bool
        switch family {
        case AF_INET:
            isWritten = unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                var bytes = unsafe address.pointee.sin_addr
                return unsafe inet_ntop(family, &bytes, &buffer, socklen_t(buffer.count)) != nil
            }
        case AF_INET6:
            isWritten = unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                var bytes = unsafe address.pointee.sin6_addr
                return unsafe inet_ntop(family, &bytes, &buffer, socklen_t(buffer.count)) != nil
            }
        default: return nil
        }
        guard isWritten else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
