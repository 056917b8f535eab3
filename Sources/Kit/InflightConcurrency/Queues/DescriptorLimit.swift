internal import Glibc

/// The number of descriptors (files, sockets and pipes) that this process may open.
package enum DescriptorLimit {
    /// The kernel returns the lowest free number, so few above these are open while the process has any left.
    private static let mostCounted = 4096
    /// The count ends at so many numbers in a row that are free.
    private static let countedAtOnce = 256

    /// Raises the soft limit to the hard limit. Cost: two system calls.
    package static func raise() {
        var limits = rlimit()
        guard unsafe getrlimit(resource, &limits) == 0, limits.rlim_cur < limits.rlim_max else { return }
        limits.rlim_cur = limits.rlim_max
        // If this fails, the limit stays as it is.
        _ = unsafe setrlimit(resource, &limits)
    }

    /// Whether a call failed with `error` because this process or the system has no descriptor left.
    package static func isReached(_ error: Int32) -> Bool { error == EMFILE || error == ENFILE }

    /// The number of descriptors that can still be opened. Cost: two system calls, some 10 µs, if few are open.
    package static var available: Int {
        var limits = rlimit()
        guard unsafe getrlimit(resource, &limits) == 0 else { return mostCounted }
        let limit = Int(clamping: limits.rlim_cur)
        let end = min(limit, mostCounted)
        var open = 0
        for first in stride(from: 0, to: end, by: countedAtOnce) {
            var numbers = (first..<min(end, first + countedAtOnce)).map { pollfd(fd: Int32($0), events: 0, revents: 0) }
            guard unsafe poll(&numbers, nfds_t(numbers.count), 0) >= 0 else { return limit }
            let found = numbers.count { $0.revents & Int16(POLLNVAL) == 0 }
            if found == 0 { break }
            open += found
        }
        return limit - open
    }

    /// The number of connections that leaves enough descriptors for decoders, cache, files and the rest of the program.
    package static var connections: Int { connections(of: available) }

    /// - Parameter available: The number of descriptors that can be opened.
    package static func connections(of available: Int) -> Int { max(1, available * 3 / 4 - 14) }

    /// The number of decoder processes for which there are descriptors. Each process takes up to eight.
    package static var decoders: Int { max(1, available / 32) }

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}
