public import InflightConcurrency
public import InflightCore
internal import InflightFiles

extension DiskStore {
    /// The configuration of a ``DiskStore``.
    public struct Configuration: Sendable {
        /// The cache folder, created with mode 0700 if missing. It must be empty or hold a cache of this program.
        public var folder: String

        /// Whether to create a cache if there is none. If false, an empty or missing folder stays as it is: nothing is
        /// stored, and maintenance calls throw ``LoadError/Code/notStored``.
        public var createsFolder = true

        /// The maximum total size in bytes of all files in the folder, at every moment: the index with its write-ahead
        /// log and shared memory, bodies, and files being written or waiting for removal. A store that would exceed it,
        /// because a reader keeps the log from being copied, is skipped. Opening the folder fails if the limit is below
        /// ``minimumLimit``. An index is copied, which may exceed it for a
        /// moment, if its log turns out to be another index's.
        public var limit: Int64

        /// The smallest valid ``limit``, in bytes: 8 MiB.
        public static let minimumLimit: Int64 = 8 << 20

        /// The maximum age. Entries that were stored or last updated longer ago are not found, and are removed. If nil,
        /// age alone removes nothing.
        public var ageLimit: Duration?

        /// The failures that an acknowledged entry survives. By default, only the end of the process.
        public var durability: Durability

        /// The clock for dates, and for when to try an unusable folder again.
        public var clock: any EngineClock

        /// The observer of the store's events. Called on a thread of the store, with no lock held. It must not block.
        public var onEvent: (@Sendable (Event) -> Void)?

        package var fileSystem: any FileSystem = SystemFileSystem()
        /// The name of the SQLite VFS for the index. If nil, the default one is used.
        package var indexFileSystem: String?
        /// Called with the entries about to be evicted, before the eviction is committed.
        package var willEvict: (@Sendable ([StoredEntry.ID]) -> Void)?
        /// Called on the writer's thread around each commit: `true` before, `false` after.
        package var commitProbe: (@Sendable (Bool) -> Void)?
        /// The maximum size in bytes of a body kept in the index. Longer bodies get a file of their own.
        package var inlineLimit = 64 << 10
        var layout = Layout.current

        /// Creates a configuration. Limits are checked when the folder is opened.
        ///
        /// - Parameters:
        ///   - folder: The cache folder. A slash at its end is removed.
        ///   - limit: The maximum total size of the folder in bytes, at least ``minimumLimit``.
        ///   - ageLimit: The maximum age of entries; nil for no limit.
        ///   - durability: The failures that an acknowledged entry survives.
        ///   - clock: The clock for dates, and for when to try an unusable folder again.
        ///   - onEvent: The observer of the store's events. It is called on a thread of the store and must not block.
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

        /// The maximum size of the write-ahead log in bytes: an eighth of ``limit``, at least 2 MiB and at most 16 MiB.
        public var logReserve: Int64 { min(maximumLogBytes, max(2 << 20, limit / 8)) }
        /// Smaller for maintenance of a cache whose limit is not known.
        package var maximumLogBytes: Int64 = 16 << 20

        /// The bytes left for the index and the bodies: ``limit`` without the log, its shared memory (32 KiB for 4,096
        /// pages of the log, https://www.sqlite.org/walformat.html) and the folder's tag.
        var dataLimit: Int64 {
            let pages = logReserve / (Layout.pageBytes + Layout.logPageHeadBytes)
            return limit - logReserve - (pages / 4096 + 2) * (32 << 10) - 8192
        }
        /// The maximum number of rows that one transaction evicts, so that the log can hold the transaction.
        var maximumEvictions: Int { Int(logReserve >> 16) }
        /// The maximum number of free pages that one transaction cuts off the index.
        var maximumCutPages: Int64 { logReserve >> 14 }

        /// Throws if the configuration is invalid: its limit is too small, or its folder is a file.
        package func check() throws(LoadError) {
            guard limit >= Self.minimumLimit else {
                throw LoadError(
                    .cannotWrite, stage: .store,
                    message: "A limit of \(limit) bytes is too small for the cache \(folder). Use at least "
                        + "\(Self.minimumLimit) bytes (8 MiB), because the index and its log count too.")
            }
            guard let path = try? fileSystem.resolved(folder), let status = try? fileSystem.status(path),
                !status.isFolder
            else { return }
            throw LoadError(
                .cannotWrite, stage: .store,
                message: "The cache \(folder) is a file, not a folder. Specify a folder, or a path that does not exist."
            )
        }

        /// The maximum size in bytes of a stored body: a quarter of ``limit``.
        public var bodyLimit: Int64 { limit / 4 }
    }

    /// The failures that an acknowledged entry survives.
    public enum Durability: Sendable, Hashable {
        /// The end of the process, at any instruction. A power cut may lose the newest entries, but a damaged one is
        /// never served. (SQLite's `synchronous=NORMAL`; files are not synchronized.)
        case process
        /// Also a power cut: each commit waits for the disk. (`synchronous=FULL`; files and folders are synchronized.)
        case powerCut
    }

    /// An event that the owner of a cache may want to know about.
    public enum Event: Sendable {
        /// A body or a row was damaged or missing. It is not served, its entry is removed, and the next load fetches it
        /// again. `url` is nil if the row cannot be read.
        case entryQuarantined(url: String?, reason: String)
        /// The folder cannot be used, for this reason. Loads continue without it, and it is retried from time to time.
        /// Reported once.
        case unavailable(LoadError)
        /// The folder can be used again.
        case recovered
        /// The index was damaged. It was removed with all entries and bodies, and the cache starts empty. `lost` is the
        /// number of entries; nil if it cannot be read. Reported by one of the stores that share the folder.
        case indexDiscarded(lost: Int?)
    }
}
