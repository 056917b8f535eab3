/// A usage error: one line that describes the problem with the arguments, and exit status 64.
struct UsageError: Error, Equatable {
    var message: String
    /// The command whose help to refer to; if `nil`, the general help.
    var command: String?

    init(_ message: String, command: String? = nil) {
        self.message = message
        self.command = command
    }
}
