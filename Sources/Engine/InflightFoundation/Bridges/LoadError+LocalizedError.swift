public import Foundation
public import InflightCore

/// Makes `localizedDescription` the error's ``LoadError/message``, which says what happened and what to do.
/// Messages are in English.
extension LoadError: LocalizedError {
    /// The message of the error, without its code and URL.
    public var errorDescription: String? { message }
}
