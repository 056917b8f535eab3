public import InflightConcurrency
public import InflightCore

extension DiskStore {
    /// What a ``DiskStore`` has to know.
    public struct Configuration: Sendable {
        /// The folder, made where it is not there, with mode 0700. It must be empty, or a cache of this program's.
        public var folder: String

        /// Whether a cache is made where there is none. Without it a folder that is empty or not there stays so: nothing is
        /// kept, and what looks after a cache throws ``LoadError/Code/notStored``.
        public var makesFolder = true

        /// The most bytes that all of the folder takes, at every commit: index, bodies, and files that are being written
        /// or are to be removed. At least 1 MiB. SQLite's write-ahead log comes on top, with ``logReserve`` at most.
        public var limit: Int64

        /// Entries that were stored longer ago are not found, and removed. `nil`: age alone removes nothing.
        public var ageLimit: Duration?

        public var durability: Durability

        /// Tells the date, and when a folder that was unusable is tried again.
        public var clock: any EngineClock

        /// Hears what an owner may want to know, on a thread of the store's, with nothing held. It must not block.
        public var onEvent: (@Sendable (Event) -> Void)?

        package var fileSystem: any FileSystem = SystemFileSystem()
        /// SQLite's own way to files (the name of one of its "VFS"); `nil` for its usual one.
        package var indexFileSystem: String?
        /// Hears which entries are about to be evicted, before that is committed.
        package var willEvict: (@Sendable ([StoredEntry.ID]) -> Void)?
        /// Called on the writer's thread around each commit: `true` before, `false` after.
        package var commitProbe: (@Sendable (Bool) -> Void)?
        /// Longer bodies get a file of their own.
        package var inlineLimit = 64 << 10
        var layout = Layout.current

        public init(
            folder: String, limit: Int64 = 150_000_000, ageLimit: Duration? = nil, durability: Durability = .process,
            clock: any EngineClock = SystemClock(), onEvent: (@Sendable (Event) -> Void)? = nil
        ) {
            self.folder = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
            self.limit = max(limit, 1 << 20)
            self.ageLimit = ageLimit
            self.durability = durability
            self.clock = clock
            self.onEvent = onEvent
        }

        /// The most bytes that the write-ahead log takes: half of ``limit``, and 16 MiB at most.
        public var logReserve: Int64 { min(16 << 20, limit / 2) }

        /// The longest body that is kept.
        public var bodyLimit: Int64 { limit / 4 }
    }

    /// What an entry survives once it was acknowledged.
    public enum Durability: Sendable, Hashable {
        /// The end of the process, at any instruction. A power cut may lose the newest entries, and never serves a
        /// damaged one. (SQLite's `synchronous=NORMAL`; files are not waited for.)
        case process
        /// A power cut too: each commit waits for the disk. (`synchronous=FULL`; files and their folders are waited for.)
        case powerCut
    }

    /// What happened to a cache that its owner may want to know.
    public enum Event: Sendable {
        /// A body or a row was damaged or gone: it is served to nobody, its entry is removed, and the next load fetches it
        /// again.
        case entryQuarantined(url: String?, reason: String)
        /// The folder cannot be used: loads go on without it, and it is tried again from time to time. Told once.
        case unavailable(LoadError)
        /// The folder can be used again.
        case recovered
        /// The index was damaged and was made anew of what was whole in it.
        case repaired(kept: Int)
    }
}
