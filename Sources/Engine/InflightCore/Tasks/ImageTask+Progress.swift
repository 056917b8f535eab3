extension ImageTask {
    /// The progress of a fetch.
    public struct Progress: Sendable, Hashable {
        /// The number of bytes of the body received so far, after its content coding is decoded.
        public var receivedBytes: Int64
        /// The length of the body on the wire, as the server announced it; nil if it did not.
        public var expectedBytes: Int64?

        public init(receivedBytes: Int64, expectedBytes: Int64?) {
            self.receivedBytes = receivedBytes
            self.expectedBytes = expectedBytes
        }

        /// The completed fraction, from 0 to 1, or nil if the length is not known.
        public var fraction: Double? {
            guard let expectedBytes, expectedBytes > 0 else { return nil }
            return min(1, Double(receivedBytes) / Double(expectedBytes))
        }
    }
}
