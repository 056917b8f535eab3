internal import InflightCore

/// Something that the writer is asked to do, and who wants to hear of it.
struct WriteOperation: Sendable {
    enum Work: Sendable {
        case keep(StoredResponse, Bytes, StoreKey, replacing: [StoredEntry.ID])
        case extend(StoredEntry.ID, Bytes, offset: Int64)
        case update(StoredEntry.ID, StoredResponse)
        case remove([StoredEntry.ID])
        case removeAll(StoreKey)
        /// Takes an entry out that a reader found to be damaged, if it is still what the reader saw.
        case quarantine(StoredEntry.ID, seal: UInt64, url: String?, reason: String)
        /// Only opens the folder, if it is not open.
        case open
        /// Cuts some of what is free off the index; fails where there is nothing.
        case compact
        /// Removes some of what killed processes have left; fails where there is nothing. By itself.
        case sweep
        /// That index was found to be damaged.
        case mend(FileStatus.Identity)
    }

    enum Outcome: Sendable {
        case kept(StoredEntry.ID)
        case done
        /// It could not be done, or what it was about is not there.
        case failed
    }

    var work: Work
    var completion: @Sendable (Outcome) -> Void

    /// Mending closes and opens everything, and a sweep takes transactions of its own.
    var isAlone: Bool {
        switch work {
        case .mend, .sweep: true
        default: false
        }
    }

    /// How many bytes of bodies it holds.
    var bytes: Int {
        switch work {
        case .keep(_, let body, _, _): body.count
        case .extend(_, let bytes, _): bytes.count
        default: 0
        }
    }
}

/// A file that was written, or has to be, before the rows that name it.
struct PlannedFile {
    var file: Int64
    var room: Int64
}
