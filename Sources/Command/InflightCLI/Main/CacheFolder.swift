import Glibc
import Inflight
import InflightCore
import InflightDisk

/// Where the command keeps what it fetched.
enum CacheFolder {
    /// By the XDG Base Directory Specification: `$XDG_CACHE_HOME/inflight`, or `~/.cache/inflight`; `nil` where the user
    /// has no home. Names that are not absolute do not count, as the specification wants it.
    static func ofUser() -> String? {
        if let cache = variable("XDG_CACHE_HOME"), cache.hasPrefix("/") { return cache + "/inflight" }
        guard let home = variable("HOME"), home.hasPrefix("/") else { return nil }
        return home + "/.cache/inflight"
    }

    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(validatingCString: value)
    }

    /// More than any cache takes: what looks after a cache never evicts.
    private static let noLimit: Int64 = 1 << 42

    /// A cache that is looked after. Where there is none, none is made.
    ///
    /// - Parameter warn: hears what had to be mended.
    static func existing(_ folder: String, warn: @escaping @Sendable (String) -> Void) -> DiskStore {
        var configuration = DiskStore.Configuration(folder: folder, limit: noLimit) { event in
            switch event {
            case .repaired(let kept):
                let entries = Quantity.count(kept, "entry", "entries")
                warn("The index of the cache was damaged. It was made anew, with \(entries) that were whole.")
            case .unavailable, .entryQuarantined, .recovered: break
            }
        }
        configuration.makesFolder = false
        configuration.mostLogBytes = 2 << 20
        return DiskStore(configuration)
    }

    /// The cache that the options ask for; `nil` for none.
    ///
    /// - Parameter warn: hears once why there is none, where one was wanted.
    static func store(_ options: CacheOptions, warn: @escaping @Sendable (String) -> Void) -> DiskStore? {
        if options.isOff { return nil }
        guard let folder = options.folder ?? ofUser() else { return nil }
        return DiskStore(
            DiskStore.Configuration(folder: folder, limit: options.bytes) { event in
                switch event {
                case .unavailable(let error): warn("Going on without a cache: \(error.message)")
                case .entryQuarantined, .recovered, .repaired: break
                }
            })
    }
}
