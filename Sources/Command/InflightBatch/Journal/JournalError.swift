internal import Glibc
internal import InflightFiles
internal import InflightSQLite

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
