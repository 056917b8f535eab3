extension ImageRequest {
    /// A program's own code as a source of images: an archive, a database, a generator.
    ///
    /// Loads with one identity share one call while it is in flight, and its result in the memory cache, as loads of
    /// one URL do. The call takes a slot in the fetch lane, where sources, files and `data:` URLs count as one origin.
    /// It is cancelled (as a Swift task is) when its last subscriber leaves.
    public struct Source: Sendable {
        /// The result of a source.
        public enum Output: Sendable {
            /// An image file to decode.
            case bytes(Bytes)
            /// A decoded image, to be resized and processed as the request says.
            case picture(PixelBuffer)
        }

        /// The identity by which two sources are the same.
        public let identity: String
        let load: @Sendable () async throws -> Output

        /// - Parameter load: called on the configuration's task executor, with no lock held. It may throw a
        ///   ``LoadError``; any other error becomes ``LoadError/Code/extensionFailed``.
        public init(_ identity: String, load: @escaping @Sendable () async throws -> Output) {
            self.identity = identity
            self.load = load
        }
    }
}
