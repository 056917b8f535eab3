internal import CInflightTLS
internal import Glibc

/// The socket calls of this module that use addresses or options, in one file.
enum Socket {
    /// Returns a listening socket on a loopback address, and the port that the system chose.
    static func listen(ipv6: Bool, backlog: Int32) throws(LoopbackServer.Failure) -> (descriptor: Int32, port: Int) {
        let family = ipv6 ? AF_INET6 : AF_INET
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | flags, 0)
        guard descriptor >= 0 else { throw .system("socket", errno) }
        do throws(LoopbackServer.Failure) {
            let port = try bindToLoopback(descriptor, ipv6: ipv6)
            guard backlog < 0 || Glibc.listen(descriptor, backlog) == 0 else {
                throw LoopbackServer.Failure.system("listen", errno)
            }
            return (descriptor, port)
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Accepts the next connection. Returns nil if none is pending.
    static func accept(_ listener: Int32) -> Int32? {
        let descriptor = inflight_accept(listener)
        guard descriptor >= 0 else { return nil }
        var on: Int32 = 1
        unsafe setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        return descriptor
    }

    /// Connects to a loopback port. The connection may still be pending when this returns.
    static func connect(port: Int, ipv6: Bool = false, blocking: Bool = false) -> Int32? {
        let kind = Int32(SOCK_STREAM.rawValue) | (blocking ? Int32(SOCK_CLOEXEC.rawValue) : flags)
        let descriptor = socket(ipv6 ? AF_INET6 : AF_INET, kind, 0)
        guard descriptor >= 0 else { return nil }
        let status = unsafe withLoopbackAddress(port: port, ipv6: ipv6) { address, length in
            unsafe Glibc.connect(descriptor, address, length)
        }
        if status == 0 || errno == EINPROGRESS { return descriptor }
        close(descriptor)
        return nil
    }

    /// Makes the next `close` send a reset instead of an orderly close.
    static func resetOnClose(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Returns the number of sent bytes that the peer's system has not acknowledged yet.
    static func unacknowledgedBytes(_ descriptor: Int32) -> Int {
        var count: Int32 = 0
        // SIOCOUTQ, which has the same number as TIOCOUTQ.
        guard unsafe ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 else { return 0 }
        return Int(count)
    }

    private static let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

    private static func bindToLoopback(_ descriptor: Int32, ipv6: Bool) throws(LoopbackServer.Failure) -> Int {
        let bound = unsafe withLoopbackAddress(port: 0, ipv6: ipv6) { address, length in
            unsafe bind(descriptor, address, length)
        }
        guard bound == 0 else { throw .system("bind", errno) }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let named = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe getsockname(descriptor, address, &length)
            }
        }
        guard named == 0 else { throw .system("getsockname", errno) }
        // The port is at the same offset in both kinds of address.
        let port = unsafe withUnsafeBytes(of: &storage) { bytes in
            Int(unsafe bytes[2]) << 8 | Int(unsafe bytes[3])
        }
        return port
    }

    private static func withLoopbackAddress<Result>(
        port: Int, ipv6: Bool, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        if ipv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = in_port_t(port).bigEndian
            address.sin6_addr = in6addr_loopback
            return unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr = in_addr(s_addr: in_addr_t(0x7F00_0001).bigEndian)
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
