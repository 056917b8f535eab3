internal import InflightCore
internal import InflightFiles

/// An operation for the writer, and its completion handler.
struct WriteOperation: Sendable {
    enum Work: Sendable {
        case keep(
            StoredResponse, Bytes, StoreKey, replacing: [StoredEntry.ID],
            andAmong: (@Sendable ([StoredEntry]) -> [StoredEntry.ID]?)?)
        case extend(StoredEntry.ID, Bytes, offset: Int64)
        case update(StoredEntry.ID, StoredResponse)
        case remove([StoredEntry.ID])
        case removeAll(StoreKey)
        /// Removes an entry that a reader found to be damaged, if it still is as the reader saw it.
        case quarantine(StoredEntry.ID, seal: UInt64, url: String?, reason: String)
        /// Opens the folder if it is not open, and does nothing else.
        case open
        /// Cuts some free pages off the index. Fails if there are none.
        case compact
        /// Removes some leftovers of killed processes. Fails if there are none. Runs in a batch of its own.
        case sweep
        /// Replaces that index, in which damage was found, if it is damaged.
        case replaceIfDamaged(FileStatus.Identity)
    }

    enum Outcome: Sendable {
        case kept(StoredEntry.ID)
        case done
        /// The operation failed, or its entry does not exist.
        case failed
    }

    var work: Work
    var completion: @Sendable (Outcome) -> Void

    /// Whether the operation needs a batch of its own. A replacement reopens everything; a sweep runs its own
    /// transactions.
    var needsOwnBatch: Bool {
        switch work {
        case .replaceIfDamaged, .sweep: true
        default: false
        }
    }

    /// The number of body bytes that the operation holds.
    var bytes: Int {
        switch work {
        case .keep(_, let body, _, _, _): body.count
        case .extend(_, let bytes, _): bytes.count
        default: 0
        }
    }
}

/// A file that is written before any row names it.
struct PlannedFile {
    var file: Int64
    var room: Int64
}
