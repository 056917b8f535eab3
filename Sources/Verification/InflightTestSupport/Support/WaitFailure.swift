/// An error if a condition did not become true in time. The description states what was seen instead.
public struct WaitFailure: Error, CustomStringConvertible {
    public let description: String

    init(description: String) {
        self.description = description
    }
}
