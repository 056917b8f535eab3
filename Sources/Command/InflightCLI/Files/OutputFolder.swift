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

    /// Gives a draft its name, and records it. A file of another URL is never replaced, unless all are.
    ///
    /// - Parameter isOwn: Whether the name is that of ``ownName(of:fileExtension:)``, whose file is replaced.
    /// - Returns: Whether the draft got the name. Otherwise another run or program has taken it, and the draft is
    ///   unchanged.
    func publish(
        _ draft: FileStore.Draft, as name: String, of key: String, fileExtension: String?, validator: Validator?,
        isOwn: Bool
    ) throws(LoadError) -> Bool {
        index.lock()
        defer { index.unlock() }
        let record = IndexRecord(
            key: key, name: name, identity: draft.identity, variant: variant, fileExtension: fileExtension,
            validator: validator)
        // The record precedes the file: a run that is killed in between leaves a record without a file, which counts
        // for nothing. In the other order, it would leave a file that no later run recognises.
        if replacesAll {
            index.append([record])
        } else {
            switch contents(of: name, key) {
            case .own(let own) where isOwn:
                // The record of the present file stays the last but one, in case this run is killed now.
                index.append(own.isLast ? [record] : [own.record, record])
            case .absent:
                index.append([record])
                return try store.publishNew(draft, as: name)
            case .own, .foreign: return false
            }
        }
        try store.publish(draft, as: name)
        return true
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
