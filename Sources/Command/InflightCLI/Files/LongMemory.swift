import InflightDisk

/// Remembers a value for each key over a whole run: in memory while they are few, in an unnamed database when they are
/// many.
///
/// Where there is no room for that, it goes on in memory: dearer, and still right.
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

    /// How many entries are held in memory.
    var residentCount: Int { recent.count }

    /// Equal where the bytes are, and hashed all at once.
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
            // What is on disk already stays readable; what is in memory stays there.
            diskHasFailed = true
        }
    }
}
