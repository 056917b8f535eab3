extension ImageTask {
    /// The progress of a fetch.
    public struct Progress: Sendable, Hashable {
        /// The number of bytes of the body received so far, after its content coding is decoded.
        public var receivedBytes: Int64
        /// The length of the body on the wire, as the server announced it; nil if it did not.
        public var expectedBytes: Int64?

        /// Creates a progress.
        ///
        /// - Parameters:
        ///   - receivedBytes: the number of bytes received so far, after content decoding.
        ///   - expectedBytes: the length of the body on the wire; nil if it is unknown.
        public init(receivedBytes: Int64, expectedBytes: Int64?) {
            self.receivedBytes = receivedBytes
            self.expectedBytes = expectedBytes
        }

        /// The completed fraction, from 0 to 1; nil if the length is unknown. An estimate if the body has a content
        /// coding: the received bytes are counted decoded, the expected ones coded.
        public var fraction: Double? {
            guard let expectedBytes, expectedBytes > 0 else { return nil }
            return min(1, Double(receivedBytes) / Double(expectedBytes))
        }
    }
}
