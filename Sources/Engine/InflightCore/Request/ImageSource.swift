/// A program's own code as a place where pictures come from: an archive, a database, a generator.
///
/// Loads of one identity share one call of it while it is under way, and its result in the memory cache, as loads of one
/// URL do. It takes a place in the fetch lane, counts as an origin of its own kind together with all other sources, and
/// is cancelled (as a task of Swift's is) when the last who waits for it has left.
public struct ImageSource: Sendable {
    /// What a source gives.
    public enum Output: Sendable {
        /// A picture's file, to be decoded.
        case bytes(Bytes)
        /// A picture: it is resized as the request wants, and processed.
        case picture(PixelBuffer)
    }

    /// What makes two sources the same.
    public let identity: String
    let load: @Sendable () async throws -> Output

    /// - Parameter load: called on the configuration's task executor, with no lock held. It may throw a ``LoadError``;
    ///   any other error is ``LoadError/Code/extensionFailed``.
    public init(_ identity: String, load: @escaping @Sendable () async throws -> Output) {
        self.identity = identity
        self.load = load
    }
}
