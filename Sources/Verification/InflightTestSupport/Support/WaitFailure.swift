/// What a test waited for did not happen in time. The description says what was seen instead.
public struct WaitFailure: Error, CustomStringConvertible {
    public let description: String

    init(description: String) {
        self.description = description
    }
}
