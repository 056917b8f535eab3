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

        /// The most bytes that all files of the folder take together, at every moment: the index with its write-ahead log
        /// and shared memory, bodies, and files that are being written or are to be removed. A store that would exceed it,
        /// because a reader keeps the log from being copied, is skipped. A limit below ``minimumLimit`` is refused when the
        /// folder is opened. Only while a damaged index is repaired are both it and the new one there.
        public var limit: Int64

        /// The least ``limit``, in bytes: 8 MiB.
        public static let minimumLimit: Int64 = 8 << 20

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
            self.limit = limit
            self.ageLimit = ageLimit
            self.durability = durability
            self.clock = clock
            self.onEvent = onEvent
        }

        /// The most bytes that the write-ahead log takes: an eighth of ``limit``, at least 2 MiB and at most 16 MiB.
        public var logReserve: Int64 { min(mostLogBytes, max(2 << 20, limit / 8)) }
        /// Smaller for whoever looks after a cache whose limit it does not know.
        package var mostLogBytes: Int64 = 16 << 20

        /// What is left for the index and the bodies: without the log, its shared memory (32 KiB for 4,096 pages of the
        /// log, https://www.sqlite.org/walformat.html), and the tag of the folder.
        var dataLimit: Int64 {
            let pages = logReserve / (Layout.pageBytes + Layout.logPageHeadBytes)
            return limit - logReserve - (pages / 4096 + 2) * (32 << 10) - 8192
        }
        /// Rows that one transaction removes for others' room, so that the log takes them all.
        var mostEvictions: Int { Int(logReserve >> 16) }
        /// Pages that one transaction cuts off the index.
        var mostCutPages: Int64 { logReserve >> 14 }

        /// Throws what is wrong with it.
        package func check() throws(LoadError) {
            guard limit < Self.minimumLimit else { return }
            throw LoadError(
                .cannotWrite, stage: .store,
                message: "A limit of \(limit) bytes is too small for the cache \(folder). Set one of at least "
                    + "\(Self.minimumLimit) bytes (8 MiB): the index and its log take room too.")
        }

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
