import InflightDisk

/// Remembers a value for each key over a whole run: in memory while they are few, in an unnamed database when they are
/// many.
///
/// If the database cannot be created or written, it continues in memory, which costs more but stays correct.
final class LongMemory {
    struct Limits {
        var entries = 20_000
        var bytes = 4 << 20
    }

    private let limits: Limits
    private let makeTable: () throws -> TemporaryTable
    private var recent: [Key: [UInt8]] = [:]
    private var recentBytes = 0
    private var disk: TemporaryTable?
    private var diskHasFailed = false

    init(limits: Limits = Limits(), makeTable: @escaping () throws -> TemporaryTable = { try TemporaryTable() }) {
        self.limits = limits
        self.makeTable = makeTable
    }

    /// The number of entries in memory.
    var residentCount: Int { recent.count }

    /// A key that compares its bytes and hashes them in one step.
    private struct Key: Hashable {
        let bytes: [UInt8]

        func hash(into hasher: inout Hasher) {
            unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        }
    }

    subscript(key: String) -> [UInt8]? {
        get { value(of: Key(bytes: Array(key.utf8))) }
        set { newValue.map { set(Key(bytes: Array(key.utf8)), $0) } }
    }

    private func value(of key: Key) -> [UInt8]? {
        if let value = recent[key] { return value }
        return (try? disk?.value(of: key.bytes)) ?? nil
    }

    private func set(_ key: Key, _ value: [UInt8]) {
        if let old = recent.updateValue(value, forKey: key) {
            recentBytes += value.count - old.count
        } else {
            recentBytes += key.bytes.count + value.count
        }
        if (recent.count > limits.entries || recentBytes > limits.bytes) && !diskHasFailed { moveToDisk() }
    }

    private func moveToDisk() {
        do {
            let table = try disk ?? makeTable()
            try table.set(recent.lazy.map { (key: $0.key.bytes, value: $0.value) })
            disk = table
            recent.removeAll(keepingCapacity: true)
            recentBytes = 0
        } catch {
            // Entries on disk stay readable; those in memory stay there.
            diskHasFailed = true
        }
    }
}
