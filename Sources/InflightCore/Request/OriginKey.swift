/// An origin with its hash, as the fetch lane groups by it. What has no origin (files, `data:`) is one group.
///
/// One reference, because every waiting job holds one.
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
}
