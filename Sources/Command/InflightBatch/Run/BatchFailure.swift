internal import Glibc
internal import InflightCore
internal import InflightFiles
internal import InflightSQLite

/// A reason why a run cannot begin or continue. Its description says what to do.
package enum BatchFailure: Error, Hashable, Sendable {
    /// The input cannot be read: 65, or 66 if it does not exist.
    case input(InputFailure)
    /// The input differs from that of the earlier run, with a message that names the first differing row: 65.
    case changedInput(String)
    /// The journal cannot be used: 73, or 64 if the options differ.
    case journal(JournalError)
    /// The output cannot be written: 73.
    case output(OutputError)
    /// The program of `--then` has not taken a file, with a message: 73.
    case handOver(String)
    /// Shards that the run needs were handed over and removed: 66. The shards by their names.
    case absent(String, shards: [String])
    /// The file of rejected rows cannot be written, with a message: 73.
    case rejects(String)
    /// A fault of this program, with a description.
    case inconsistent(String)
}

extension BatchFailure {
    /// Creates the failure of a file or folder, with `errno` by default.
    static func output(_ operation: OutputError.Operation, _ path: String, _ number: Int32 = errno) -> Self {
        .output(OutputError(operation, path, number))
    }

    static func output(_ operation: OutputError.Operation, _ path: String, _ error: SystemError) -> Self {
        .output(OutputError(operation, path, error.code))
    }

    /// Creates the failure of a file that was read, and is not what was written.
    static func output(damaged path: String, _ damage: String) -> Self {
        .output(OutputError(damaged: path, damage))
    }
}

extension BatchFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .input(let failure): failure.description
        case .changedInput(let message): message
        case .journal(let error): error.description
        case .output(let error): error.description
        case .handOver(let message): message
        case .absent(let folder, let shards):
            "\(shards.count == 1 ? "Shard" : "Shards") \(Self.list(shards)) of the run in \(folder) "
                + "\(shards.count == 1 ? "is" : "are") not in this folder any more, where --then removes files that it "
                + "has handed over. Put the files of each shard back (\(shards[0]).tar, \(shards[0]).jsonl.zst and "
                + "\(shards[0])_stats.json), then run the same command again."
        case .rejects(let message): message
        case .inconsistent(let text): "The run is inconsistent: \(text). This is a fault of the program."
        }
    }
}

extension BatchFailure {
    private static func list(_ names: [String]) -> String {
        let rest = names.count - 5
        return names.prefix(5).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }
}

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

    init(_ operation: Operation, _ path: String, _ number: Int32) {
        self.operation = operation
        self.path = path
        self.number = number
        damage = nil
    }

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

/// A failure of the journal. Its description says what failed, where, and what to do.
///
/// Each case names the output folder as the caller did.
package enum JournalError: Hashable, Sendable {
    /// An option with its values in the journal and in the command; `nil` if it is not set.
    package struct OptionChange: Hashable, Sendable {
        /// The option's name.
        package var name: String
        /// The value of the run in the folder.
        package var old: String?
        /// The value of the command.
        package var new: String?
    }

    /// The path is not a folder.
    case notAFolder(String)
    /// The folder has no journal to read.
    case missing(String)
    /// The folder has files, but no journal.
    case foreignFolder(String)
    /// The journal's file belongs to another program.
    case foreignFile(String)
    /// Another run holds the lock.
    case locked(String)
    /// A newer program wrote the journal.
    case newer(String, version: Int, supported: Int)
    /// The journal is not as it was written.
    case damaged(String, reason: String)
    /// Options that affect the output differ, in the order of their names.
    case changedOptions(String, [OptionChange])
    /// The disk is full.
    case full(String)
    /// The folder cannot be written.
    case readOnly(String, reason: String)
    /// Any other failure.
    case failed(String, reason: String)
    /// A shard was reported as finished before a row of it.
    case incomplete(String, shard: Int, row: Int)

    init(_ error: DatabaseError, _ folder: String) {
        self =
            if error.isFull {
                .full(folder)
            } else if error.isDamage {
                .damaged(folder, reason: error.text)
            } else if error.isReadOnly {
                .readOnly(folder, reason: error.text)
            } else {
                .failed(folder, reason: error.text)
            }
    }

    init(errno number: Int32, _ folder: String) {
        let reason = SystemError(code: number).systemText
        self =
            switch number {
            case ENOTDIR: .notAFolder(folder)
            case ENOSPC, EDQUOT: .full(folder)
            case EACCES, EPERM, EROFS: .readOnly(folder, reason: reason)
            default: .failed(folder, reason: reason)
            }
    }
}

extension JournalError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notAFolder(let folder): "\(folder) is not a folder. Specify another path."
        case .missing(let folder): "\(folder) has no \(JournalFolder.journalName). Specify the folder of a batch run."
        case .foreignFolder(let folder):
            "\(folder) contains other files and no \(JournalFolder.journalName). It was not changed. Specify an empty "
                + "folder or one that does not exist."
        case .foreignFile(let folder):
            "\(Self.path(folder)) belongs to another program. It was not changed. Specify another folder."
        case .locked(let folder): "Another run writes to \(folder). Wait until it ends, or specify another folder."
        case .newer(let folder, let version, let supported):
            "\(Self.path(folder)) has version \(version); this program supports versions up to \(supported). It was "
                + "not changed. Use a newer program, or another folder."
        case .damaged(let folder, let reason):
            "\(Self.path(folder)) is damaged: \(reason). Restore it from a backup, or specify another folder."
        case .changedOptions(let folder, let changes):
            "The options differ from those of the run in \(folder): "
                + changes.map { "\($0.name) was \(Self.text($0.old)), is \(Self.text($0.new))" }.joined(separator: "; ")
                + ". Use the same options to resume, or specify another folder."
        case .full(let folder):
            "The disk of \(folder) is full. The rows recorded so far are kept. Free space, then run the same command "
                + "again."
        case .readOnly(let folder, let reason):
            "Cannot write to \(folder): \(reason). Check its permissions, or specify another folder."
        case .failed(let folder, let reason): "Cannot use \(Self.path(folder)): \(reason)."
        case .incomplete(let folder, let shard, let row):
            "Shard \(shard) in \(folder) cannot be recorded: row \(row) has no outcome."
        }
    }

    private static func path(_ folder: String) -> String { folder + "/" + JournalFolder.journalName }

    private static func text(_ value: String?) -> String { value.map { "'\($0)'" } ?? "not set" }
}
