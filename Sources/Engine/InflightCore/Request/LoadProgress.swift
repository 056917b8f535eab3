/// How far a fetch has come.
public struct LoadProgress: Sendable, Hashable {
    /// Bytes of the body so far, content coding undone.
    public var receivedBytes: Int64
    /// The length of the body that the server announced, on the wire; `nil` where it did not.
    public var expectedBytes: Int64?

    public init(receivedBytes: Int64, expectedBytes: Int64?) {
        self.receivedBytes = receivedBytes
        self.expectedBytes = expectedBytes
    }

    /// From 0 to 1, or `nil` where the length is not known.
    public var fraction: Double? {
        guard let expectedBytes, expectedBytes > 0 else { return nil }
        return min(1, Double(receivedBytes) / Double(expectedBytes))
    }
}
