extension ImageRequest {
    /// A source of images in the program's own code: an archive, a database, a generator.
    ///
    /// Loads with one identity share one call while it is in flight, and its result in the memory cache, as loads of
    /// one URL do. The call takes a slot in the fetch lane, where sources, files and `data:` URLs count as one origin.
    /// It is cancelled (as a Swift task is) when its last subscriber leaves.
    public struct Source: Sendable {
        /// The result of a source.
        public enum Output: Sendable {
            /// An image file to decode. Bytes beyond ``ImageRequest/Limits/maximumBodyBytes`` fail with
            /// ``LoadError/Code/tooLarge``.
            case bytes(Bytes)
            /// A decoded image, to be resized and processed as the request says. Loads of bytes fail with
            /// ``LoadError/Code/invalidRequest``, because there is no file.
            case image(PixelBuffer)
        }

        /// The identity of the image: two sources with the same identity are expected to return the same image.
        public let identity: String
        let load: @Sendable () async throws -> Output

        /// Creates a source.
        ///
        /// - Parameters:
        ///   - identity: the identity of the image, by which loads are coalesced and cached.
        ///   - load: returns the image. Called on the configuration's task executor, with no lock held. It may throw a
        ///     ``LoadError``; a `CancellationError` becomes ``LoadError/Code/cancelled``, and any other error
        ///     ``LoadError/Code/extensionFailed``.
        public init(_ identity: String, load: @escaping @Sendable () async throws -> Output) {
            self.identity = identity
            self.load = load
        }
    }
}

extension ImageRequest.Source: Hashable {
    public static func == (left: Self, right: Self) -> Bool { left.identity == right.identity }
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}
