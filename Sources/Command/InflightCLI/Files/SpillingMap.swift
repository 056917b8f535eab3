import InflightDisk

/// Stores a value for each key for a whole run. Entries beyond ``Limits`` move from memory to an unnamed database.
///
/// If the database cannot be created or written, further entries stay in memory, without a limit.
final class SpillingMap {
    struct Limits {
        var entries = 20_000
        var bytes = 4 << 20
    }

    private let limits: Limits
    private let makeTable: () throws -> TemporaryTable
    /// Keyed by strings, not by byte arrays: a short string is stored inline, and a longer one shares its owner's
    /// storage. File names that differ only in their Unicode normalization are equal here, and get different numbers.
    private var recent: [String: [UInt8]] = [:]
    private var recentBytes = 0
    private var disk: TemporaryTable?
    private var diskHasFailed = false

    init(limits: Limits = Limits(), makeTable: @escaping () throws -> TemporaryTable = { try TemporaryTable() }) {
        self.limits = limits
        self.makeTable = makeTable
    }

    /// The number of entries in memory.
    var residentCount: Int { recent.count }

    subscript(key: String) -> [UInt8]? {
        get {
            if let value = recent[key] { return value }
            guard let disk else { return nil }
            return (try? disk.value(of: Array(key.utf8))) ?? nil
        }
        set { newValue.map { set(key, $0) } }
    }

    private func set(_ key: String, _ value: [UInt8]) {
        if let old = recent.updateValue(value, forKey: key) {
            recentBytes += value.count - old.count
        } else {
            recentBytes += key.utf8.count + value.count
        }
        if (recent.count > limits.entries || recentBytes > limits.bytes) && !diskHasFailed { moveToDisk() }
    }

    private func moveToDisk() {
        do {
            let table = try disk ?? makeTable()
            try table.set(recent.lazy.map { (key: Array($0.key.utf8), value: $0.value) })
            disk = table
            recent.removeAll(keepingCapacity: true)
            recentBytes = 0
        } catch {
            // Entries on disk stay readable; those in memory stay there.
            diskHasFailed = true
        }
    }
}
