internal import Foundation
internal import InflightConcurrency

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Waits for the system's resolver to finish a name lookup, with any result, on separate threads.
///
/// Cancelling a `URLSession` task during its name lookup blocks its whole session until the resolver answers. When a
/// later lookup of the same name has ended, the task's lookup has very likely ended too.
final class HostLookups: Sendable {
    typealias Waiting = @Sendable () -> Void

    private let waiting = Guarded<[String: [Waiting]]>([:])
    private let threads = WorkerThreads(count: 2, name: "inflight-names")

    /// Calls `body` once, on one of its threads, or before it returns if the host needs no lookup. Calls for the same
    /// name share a lookup.
    func afterLookup(of host: String, _ body: @escaping Waiting) {
        if Self.isKnown(host) { return body() }
        let isFirst = waiting.withLock { waiting in
            defer { waiting[host, default: []].append(body) }
            return waiting[host] == nil
        }
        guard isFirst else { return }
        threads.run {
            Self.lookUp(host)
            let bodies = self.waiting.withLock { $0.removeValue(forKey: host) } ?? []
            for body in bodies { body() }
        }
    }

    /// Whether the host needs no lookup: addresses, and `localhost` (RFC 6761 section 6.3).
    private static func isKnown(_ host: String) -> Bool {
        if host == "localhost" || host.contains(":") { return true }
        var address = in_addr()
        return unsafe inet_pton(AF_INET, host, &address) == 1
    }

    private static func lookUp(_ host: String) {
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, nil, &list) == 0 else { return }
        unsafe freeaddrinfo(list)
    }
}
