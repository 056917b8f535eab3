public import FoundationEssentials

/// Makes `localizedDescription` the error's ``LoadError/message``, which says what happened and what to do.
/// Messages are in English.
extension LoadError: LocalizedError {
    /// The message of the error, without its code and URL.
    public var errorDescription: String? { message }

    /// The message of the error, also in programs that do not import Foundation, which gives it to every error.
    public var localizedDescription: String { message }
}
