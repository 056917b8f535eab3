internal import InflightCore

/// An error that ends the reading of all inputs, with the input that caused it.
package struct InputFailure: Hashable, Sendable {
    /// The name of the input, or the pattern that matches no file.
    package var name: String
    /// What is wrong with the input.
    package var error: InputError
}

extension InputFailure: CustomStringConvertible {
    package var description: String { "\(Message.cleaned(name)): \(error)" }
}
