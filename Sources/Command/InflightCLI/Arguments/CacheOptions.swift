import Inflight
import InflightDisk

/// The options for the disk cache of `get`.
struct CacheOptions: Equatable, Sendable {
    /// The cache folder; if `nil`, the user's own.
    var folder: String?
    var isOff = false
    var bytes: Int64 = 150_000_000
    var policy = CachePolicy.obey
    var servesStaleOnDisconnect = false

    func settle() throws(UsageError) {
        guard isOff else { return }
        if folder != nil { throw UsageError("--cache and --no-cache contradict each other.") }
        if servesStaleOnDisconnect {
            throw UsageError("--stale-on-disconnect needs a cache, so not --no-cache.")
        }
        if policy == .onlyCached { throw UsageError("--cache-policy only-cached needs a cache, so not --no-cache.") }
    }

    static var rows: [Option<Self>] {
        [
            Option("--cache DIR", "in that directory (inflight in the user's cache folder)") {
                $0.folder = try $1.path("a directory")
            },
            Option("--cache-size BYTES", "limit of all its files, 8388608 at least (150000000)") {
                $0.bytes = try size($1)
            },
            Option(
                "--cache-policy HOW",
                """
                obey (default): as the servers said; refresh: revalidate; reload: fetch and store again; \
                only-cached: ask no server; prefer-cached: at any age; no-store: neither use nor store anything
                """
            ) { $0.policy = try $1.choice() },
            Option(
                "--stale-on-disconnect", "use a stale response when its server cannot be reached",
                \.servesStaleOnDisconnect),
            Option("--no-cache", "disable the disk cache", \.isOff),
        ]
    }

    private static func size(_ value: OptionValue) throws(UsageError) -> Int64 {
        let least = DiskStore.Configuration.minimumLimit
        let number = Int64(try value.integer(0...Int.max))
        guard number >= least else {
            throw UsageError(
                "\(value.name) takes at least \(least) bytes (8 MiB), not \(value.text.quoted): the index of the cache "
                    + "and its log take room too.")
        }
        return number
    }
}
