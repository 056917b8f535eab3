import Glibc
import InflightConcurrency
import InflightCore
import InflightDisk
import InflightTestSupport

/// A temporary folder for one test, which is removed with its contents.
final class Folder: Sendable {
    // In memory if possible, because these tests often wait for the disk.
    private let directory = TemporaryDirectory(in: unsafe access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp")

    /// The parent of the cache folder, which does not exist at first.
    var parent: String { directory.path }

    /// The cache folder.
    var path: String { parent + "/cache" }

    func appending(_ name: String) -> String { path + "/" + name }

    /// The sizes of all files, by their paths relative to the cache folder.
    var files: [String: Int64] {
        var found: [String: Int64] = [:]
        Self.walk(path) { file in
            var status = stat()
            if unsafe stat(file, &status) == 0 { found[String(file.dropFirst(path.count + 1))] = Int64(status.st_size) }
        }
        return found
    }

    /// The files of bodies.
    var bodies: [String] { files.keys.filter { $0.hasPrefix("bodies/") }.sorted() }

    /// The size of all files, in bytes.
    var bytes: Int64 { files.values.reduce(0, +) }

    /// The size of all files while others write, or `nil` if the files change meanwhile. The files are measured one
    /// after the other, so the sum could include a removed file beside its replacement.
    var settledBytes: Int64? {
        let first = files
        guard first == files else { return nil }
        return first.values.reduce(0, +)
    }

    func read(_ name: String) -> [UInt8] {
        TemporaryDirectory.read(appending(name)) ?? []
    }

    func write(_ name: String, _ bytes: [UInt8]) {
        unsafe mkdir(path, 0o700)
        TemporaryDirectory.write(appending(name), bytes)
    }

    func remove() { TemporaryDirectory.remove(path) }

    /// Returns a copy of all files as they are: the state that a kill leaves behind if a store has the folder open.
    func copy() -> Folder {
        let other = Folder()
        for name in files.keys {
            let parts = name.split(separator: "/").dropLast()
            for count in 0...parts.count {
                unsafe mkdir(other.appending(parts[..<count].joined(separator: "/")), 0o700)
            }
            other.write(name, read(name))
        }
        return other
    }

    /// The folders in `bodies`.
    var bodyFolders: [String] { TemporaryDirectory.names(appending("bodies")) }

    func remove(_ name: String) { TemporaryDirectory.remove(appending(name)) }

    /// Creates a store in the cache folder.
    func store(
        limit: Int64 = 20_000_000, clock: any EngineClock = SystemClock(), log: EventLog? = nil,
        _ change: (inout DiskStore.Configuration) -> Void = { _ in }
    ) -> DiskStore {
        var configuration = DiskStore.Configuration(folder: path, limit: limit, clock: clock) { log?.add($0) }
        configuration.willEvict = { log?.addEvicted($0) }
        change(&configuration)
        return DiskStore(configuration)
    }

    static func walk(_ folder: String, _ body: (String) -> Void) {
        for name in TemporaryDirectory.names(folder) {
            let path = folder + "/" + name
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR { walk(path, body) } else { body(path) }
        }
    }
}

/// The events of a store.
final class EventLog: Sendable {
    private let state = Guarded<(events: [DiskStore.Event], evicted: Set<Int64>)>(([], []))

    func add(_ event: DiskStore.Event) { state.withLock { $0.events.append(event) } }

    func addEvicted(_ ids: [StoredEntry.ID]) { state.withLock { $0.evicted.formUnion(ids.map(\.rawValue)) } }

    var evicted: Set<Int64> { state.withLock { $0.evicted } }
    var events: [DiskStore.Event] { state.withLock { $0.events } }

    var quarantined: [String?] {
        events.compactMap { if case .entryQuarantined(let url, _) = $0 { .some(url) } else { nil } }
    }
    var unavailable: [LoadError] { events.compactMap { if case .unavailable(let error) = $0 { error } else { nil } } }
    var recoveries: Int { events.count { if case .recovered = $0 { true } else { false } } }
    /// The numbers of entries that discarded indexes had.
    var discarded: [Int?] {
        events.compactMap { if case .indexDiscarded(let lost) = $0 { .some(lost) } else { nil } }
    }
}

extension DiskStore {
    /// Stores a complete body under its URL.
    @discardableResult
    func keep(_ url: String, _ body: Bytes) async -> StoredEntry.ID? {
        await keep(.example(url, body: body), body: body, under: StoreKey(url))
    }

    /// Returns the body of the first entry found.
    func body(_ url: String) async -> Bytes? {
        await find(StoreKey(url)).body?.bytes
    }
}
