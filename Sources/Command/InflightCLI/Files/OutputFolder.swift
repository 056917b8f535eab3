import Glibc
import Inflight
import InflightCore

/// The output folder of a run, with its index: decides which files are of which URL, and replaces no others.
///
/// A file is of a URL if the index says so, and if the file is as it was written: its size and time, or else its
/// contents. So a file that the user has put in its place is kept.
///
/// Confined to the run's queue.
final class OutputFolder {
    /// The file of a URL, from an earlier run.
    private struct Recorded {
        var record: IndexRecord
        /// Whether the record is the last one of its file. It is not if a run was killed before it replaced the file.
        var isLast: Bool
        /// Whether the file is as it was written. Otherwise it is empty or truncated.
        var isWhole = true
    }

    private enum Contents {
        case absent
        case own(Recorded)
        /// Anything else, such as another URL's file, the user's own, a folder or a link.
        case foreign
    }

    private let store: FileStore
    private let index: FolderIndex
    private let replacesAll: Bool
    private let variant: String
    private let isDamaged: (String) -> Bool

    /// - Parameters:
    ///   - replacesAll: Whether files are replaced whatever URL they are of.
    ///   - variant: The options that determine a file's bytes (``GetOptions/variant``).
    ///   - isDamaged: Returns whether a file is an image, but only a part of one.
    init(_ store: FileStore, replacesAll: Bool, variant: String, isDamaged: @escaping (String) -> Bool) {
        self.store = store
        self.replacesAll = replacesAll
        self.variant = variant
        self.isDamaged = isDamaged
        index = FolderIndex(in: store.descriptor, shownPath: store.path(of: FolderIndex.fileName))
    }

    /// Returns what went wrong with the index since the last call, for the user.
    func takeProblems() -> [String] { index.takeProblems() }

    // MARK: Files of earlier runs

    /// Returns the last file that was stored for a URL with the options of this run, if it is still there.
    func current(of key: String) -> IndexRecord? {
        index.refresh()
        for name in index.names(of: key) {
            if case .own(let own) = contents(of: name, key), own.isWhole, own.record.variant == variant {
                return own.record
            }
        }
        return nil
    }

    /// Returns the name of a URL's file with that extension, which this run may replace.
    func ownName(of key: String, fileExtension: String?) -> String? {
        guard !replacesAll else { return nil }
        index.refresh()
        return index.names(of: key).first { name in
            guard case .own(let own) = contents(of: name, key) else { return false }
            return own.record.fileExtension == fileExtension
        }
    }

    /// Returns whether a new file cannot get that name.
    func isTaken(_ name: String) -> Bool { !replacesAll && store.status(of: name) != nil }

    private func contents(of name: String, _ key: String) -> Contents {
        guard let status = store.status(of: name) else { return .absent }
        let claims = index.claims(on: name)
        guard status.isFile, let last = claims.first, last.key == key else { return .foreign }
        func own(_ record: IndexRecord) -> Contents { .own(Recorded(record: record, isLast: record == last)) }
        let size = status.size
        let sameSize = claims.filter { $0.identity.size == size }
        if let same = sameSize.first(where: { $0.identity.modified == status.modified }) { return own(same) }
        // A copy of the folder has other times.
        if !sameSize.isEmpty, let bytes = store.existing(name, limit: size) {
            let checksum = FileIdentity.checksum(of: bytes)
            if let same = sameSize.first(where: { $0.identity.checksum == checksum }) { return own(same) }
        }
        // A power failure may leave an empty file, and a copy that was interrupted a part.
        guard size == 0 || (size < last.identity.size && isDamaged(name)) else { return .foreign }
        return .own(Recorded(record: last, isLast: true, isWhole: false))
    }

    // MARK: Files of this run

    /// A draft, and what is recorded of it.
    struct NewFile {
        var draft: FileStore.Draft
        var name: String
        /// The key of its URL.
        var key: String
        var fileExtension: String?
        var validator: Validator?
        /// Whether the name is that of ``ownName(of:fileExtension:)``, whose file is replaced.
        var isOwn: Bool
    }

    /// Calls `body` while no other run changes the folder.
    func exclusively<Value>(_ body: () -> Value) -> Value {
        index.lock()
        defer { index.unlock() }
        return body()
    }

    /// Gives drafts their names, and records them. A file of another URL is never replaced, unless all are.
    ///
    /// Call it in ``exclusively(_:)``.
    ///
    /// - Returns: For each draft, whether it got the name. Otherwise another run or program has taken the name, and the
    ///   draft is unchanged.
    func publish(_ files: [NewFile]) -> [Result<Bool, LoadError>] {
        var records: [IndexRecord] = []
        let replaces: [Bool?] = files.map { file in
            let record = IndexRecord(
                key: file.key, name: file.name, identity: file.draft.identity, variant: variant,
                fileExtension: file.fileExtension, validator: file.validator)
            if replacesAll {
                records.append(record)
                return true
            }
            // A new name was free when it was chosen. If no record claims it, only another program can have taken it
            // since, which `publishNew` finds out.
            let isFree = !file.isOwn && index.claims(on: file.name).isEmpty
            switch isFree ? .absent : contents(of: file.name, file.key) {
            case .own(let own) where file.isOwn:
                // The record of the present file stays the last but one, in case this run is killed now.
                records += own.isLast ? [record] : [own.record, record]
                return true
            case .absent:
                records.append(record)
                return false
            case .own, .foreign: return nil
            }
        }
        // The records precede the files: a run that is killed in between leaves records without files, which count for
        // nothing. In the other order, it would leave files that no later run recognises.
        index.append(records)
        return zip(files, replaces).map { file, replaces in
            Result { () throws(LoadError) in
                guard let replaces else { return false }
                if !replaces { return try store.publishNew(file.draft, as: file.name) }
                try store.publish(file.draft, as: file.name)
                return true
            }
        }
    }

    /// Records the new validator of a file whose contents have not changed.
    func confirm(_ record: IndexRecord, _ validator: Validator?) {
        guard record.validator != validator else { return }
        index.lock()
        defer { index.unlock() }
        var record = record
        record.validator = validator
        index.append([record])
    }
}
