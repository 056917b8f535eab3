internal import Glibc
internal import InflightFiles

/// An output file that cannot be written, or read again.
package struct OutputError: Hashable, Sendable {
    /// What was done to the file.
    package enum Operation: String, Sendable {
        case create, write, read, rename, synchronize, remove
    }

    /// What was done to the file.
    package let operation: Operation
    /// The path of the file or folder.
    package let path: String
    /// The system's error number, or 0 if the file is not what it was when it was written.
    package let number: Int32
    /// How the file differs from what was written, as a sentence; `nil` if the number says it, or if it is not known.
    package let damage: String?

    /// Creates an error. The default number is that of the call before.
    init(_ operation: Operation, _ path: String, _ number: Int32 = errno) {
        self.operation = operation
        self.path = path
        self.number = number
        damage = nil
    }

    init(_ operation: Operation, _ path: String, _ error: SystemError) { self.init(operation, path, error.code) }

    /// Creates an error for a file that was read, and is not what was written.
    init(damaged path: String, _ damage: String) {
        operation = .read
        self.path = path
        number = 0
        self.damage = damage
    }

    /// Whether there is no space: the same run can continue when there is.
    package var isFull: Bool { SystemError(code: number).isFull }
}

extension OutputError: CustomStringConvertible {
    package var description: String { "Cannot \(operation.rawValue) \(path): \(reason)" }

    /// The reason as a sentence.
    var reason: String {
        number == 0 ? damage ?? "It changed since it was written." : SystemError(code: number).systemText + "."
    }
}
