import Glibc
import Inflight
import InflightCore
import InflightDisk

/// The folder of the command's disk cache.
enum CacheFolder {
    /// Returns the folder by the XDG Base Directory Specification: `$XDG_CACHE_HOME/inflight`, or `~/.cache/inflight`;
    /// `nil` if the user has no home. Paths that are not absolute are ignored, as the specification requires.
    static func ofUser() -> String? {
        if let cache = variable("XDG_CACHE_HOME"), cache.hasPrefix("/") { return cache + "/inflight" }
        guard let home = variable("HOME"), home.hasPrefix("/") else { return nil }
        return home + "/.cache/inflight"
    }

    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(validatingCString: value)
    }

    /// More than any cache holds, because cache maintenance must not evict entries.
    private static let noLimit: Int64 = 1 << 42

    /// Returns a store for the maintenance of an existing cache. It never creates one.
    ///
    /// - Parameter warn: Called if the index was damaged.
    static func existing(_ folder: String, warn: @escaping @Sendable (String) -> Void) -> DiskStore {
        var configuration = DiskStore.Configuration(folder: folder, limit: noLimit) { event in
            switch event {
            case .indexDiscarded(let lost):
                let entries = lost.map { Quantity.count($0, "entry", "entries") } ?? "all entries"
                warn("The cache index was damaged. It was discarded with \(entries).")
            case .unavailable, .entryQuarantined, .recovered: break
            }
        }
        configuration.createsFolder = false
        configuration.maximumLogBytes = 2 << 20
        return DiskStore(configuration)
    }

    /// Returns the store that the options request, or `nil` for none.
    ///
    /// - Parameter warn: Called once with the reason if a requested cache is unavailable.
    static func store(_ options: CacheOptions, warn: @escaping @Sendable (String) -> Void) -> DiskStore? {
        if options.isOff { return nil }
        guard let folder = options.folder ?? ofUser() else { return nil }
        return DiskStore(
            DiskStore.Configuration(folder: folder, limit: options.bytes) { event in
                switch event {
                case .unavailable(let error): warn("Continuing without a cache: \(error.message)")
                case .entryQuarantined, .recovered, .indexDiscarded: break
                }
            })
    }
}
