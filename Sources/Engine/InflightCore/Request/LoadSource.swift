/// Where a result came from: an open set.
public struct LoadSource: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public var description: String { rawValue }

    /// The task's own request to a server.
    public static let network = LoadSource(rawValue: "network")
    /// Another task's request for the same resource, which was in flight.
    public static let shared = LoadSource(rawValue: "shared")
    /// The memory cache.
    public static let memory = LoadSource(rawValue: "memory")
    /// A stored response.
    public static let disk = LoadSource(rawValue: "disk")
    /// A stored response, after its origin confirmed it.
    public static let revalidated = LoadSource(rawValue: "revalidated")
    /// A local file.
    public static let file = LoadSource(rawValue: "file")
    /// The program's own source (``ImageRequest/Source``).
    public static let source = LoadSource(rawValue: "source")
    /// A `data:` URL.
    public static let data = LoadSource(rawValue: "data")
}
