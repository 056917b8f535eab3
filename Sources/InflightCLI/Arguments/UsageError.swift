/// The command was called in a way that makes no sense: one line that names what is wrong, and exit status 64.
struct UsageError: Error, Equatable {
    var message: String
    /// The command whose help tells more; `nil`: the help of all.
    var command: String?

    init(_ message: String, command: String? = nil) {
        self.message = message
        self.command = command
    }

    func of(command: String) -> UsageError {
        UsageError(message, command: self.command ?? command)
    }
}
