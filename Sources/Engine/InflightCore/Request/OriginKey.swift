import InflightConcurrency

/// An origin with its hash, by which the fetch lane groups. URLs without an origin (files, `data:`) form one group.
///
/// A reference, because every queued job holds one. The latest few are cached, so that URLs of one origin share it.
final class OriginKey: Hashable, Sendable, CustomStringConvertible {
    let origin: Origin?
    private let hash: Int

    static let none = OriginKey(nil)

    init(_ origin: Origin?) {
        self.origin = origin
        var hasher = Hasher()
        hasher.combine(origin)
        hash = hasher.finalize()
    }

    var description: String { origin?.description ?? "local" }

    static func == (left: OriginKey, right: OriginKey) -> Bool {
        left === right || (left.hash == right.hash && left.origin == right.origin)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }

    private static func isSame(_ text: String, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var text = text
        return text.withUTF8 { unsafe $0.elementsEqual(bytes) }
    }

    /// The latest origins of plain URLs, indexed by a hash of the host's bytes and the port.
    private static let latest = Guarded([OriginKey?](repeating: nil, count: 64))

    /// Returns the key of `http` or `https`, a host in lower case, and a port.
    static func shared(isSecure: Bool, host: UnsafeBufferPointer<UInt8>, port: Int) -> OriginKey {
        var place = port
        for index in host.indices { place = (place &* 31 &+ Int(unsafe host[index])) & 0xFFFF }
        place &= 63
        let scheme = isSecure ? "https" : "http"
        let found = latest.withLock { $0[place] }
        if let found, let origin = found.origin, origin.port == port, origin.scheme == scheme,
            unsafe isSame(origin.host, host)
        {
            return found
        }
        let text = unsafe String(decoding: host, as: UTF8.self)
        let key = OriginKey(Origin(scheme: scheme, host: text, port: port))
        let replaced = latest.withLock { keys in
            let old = keys[place]
            keys[place] = key
            return old
        }
        withExtendedLifetime(replaced) {}
        return key
    }
}
