/// The source of a result: an open set, so switch over it with a `default`.
public struct LoadSource: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// Creates a source that this library does not define, for example in a store or a test.
    ///
    /// - Parameter rawValue: the name, which appears in logs. Sources with equal names are equal.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public var description: String { rawValue }

    /// A request to a server, made for this task.
    public static let network = LoadSource(rawValue: "network")
    /// A request to a server that was already in flight for another task.
    public static let shared = LoadSource(rawValue: "shared")
    /// The cache of decoded images in memory.
    public static let memory = LoadSource(rawValue: "memory")
    /// The store: a response, or an image made from one, that was used without contacting its origin.
    public static let disk = LoadSource(rawValue: "disk")
    /// The store: a response that its origin confirmed (status 304).
    public static let revalidated = LoadSource(rawValue: "revalidated")
    /// A local file.
    public static let file = LoadSource(rawValue: "file")
    /// The program's own source (``ImageRequest/Source``).
    public static let source = LoadSource(rawValue: "source")
    /// A `data:` URL.
    public static let data = LoadSource(rawValue: "data")
}
