/// The error when a condition did not become true in time.
public struct WaitFailure: Error, CustomStringConvertible {
    /// The condition that was waited for, the limit, and what was seen instead.
    public let description: String

    init(description: String) {
        self.description = description
    }
}
