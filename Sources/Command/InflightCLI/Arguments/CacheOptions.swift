import Inflight
import InflightDisk

/// The options for the disk cache of `get`.
struct CacheOptions: Equatable, Sendable {
    /// The cache folder; if `nil`, the user's own.
    var folder: String?
    var isOff = false
    var bytes: Int64 = 150_000_000
    var policy = ImageRequest.CachePolicy.obey
    var servesStaleOnDisconnect = false

    func validate() throws(UsageError) {
        guard isOff else { return }
        if folder != nil { throw UsageError("--cache and --no-cache cannot be combined.") }
        if servesStaleOnDisconnect {
            throw UsageError("--stale-on-disconnect and --no-cache cannot be combined.")
        }
        if policy == .onlyCached {
            throw UsageError("--cache-policy only-cached and --no-cache cannot be combined.")
        }
    }

    static var rows: [Option<Self>] {
        [
            Option(
                "--cache DIR", "use this cache folder (default $XDG_CACHE_HOME/inflight or ~/.cache/inflight)", .folder
            ) { $0.folder = try $1.path("a folder") },
            Option("--cache-size BYTES", "maximum size of the cache in bytes (default 150000000, at least 8388608)") {
                $0.bytes = try size($1)
            },
            Option(
                "--cache-policy HOW",
                """
                caching rules: obey (default), refresh, reload, only-cached, prefer-cached or no-store; explained below
                """,
                OptionValue.choices()
            ) { $0.policy = $1 },
            Option(
                "--stale-on-disconnect", "use a stale response if its server cannot be reached",
                \.servesStaleOnDisconnect),
            Option("--no-cache", "disable the disk cache", \.isOff),
        ]
    }

    private static func size(_ value: OptionValue) throws(UsageError) -> Int64 {
        let least = DiskStore.Configuration.minimumLimit
        let number = Int64(try value.integer(0...Int.max))
        guard number >= least else {
            throw value.invalid("at least \(least) bytes (8 MiB)")
        }
        return number
    }
}
