/// Where a result came from: an open set.
public struct LoadSource: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public var description: String { rawValue }

    /// A request of this task's own went out.
    public static let network = LoadSource(rawValue: "network")
    /// Another task's request was under way for the same thing.
    public static let shared = LoadSource(rawValue: "shared")
    /// The memory cache.
    public static let memory = LoadSource(rawValue: "memory")
    /// What was stored of an earlier answer.
    public static let disk = LoadSource(rawValue: "disk")
    /// What was stored of an earlier answer, after its origin said that it still holds.
    public static let revalidated = LoadSource(rawValue: "revalidated")
    /// A local file.
    public static let file = LoadSource(rawValue: "file")
    /// A source of the program's own.
    public static let source = LoadSource(rawValue: "source")
    /// A `data:` URL.
    public static let data = LoadSource(rawValue: "data")
}
