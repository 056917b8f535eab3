/// Remembers a value for each key over a whole run: in memory while they are few, in unnamed files when they are many.
///
/// Where those files cannot be had, it goes on in memory: dearer, and still right.
final class LongMemory {
    struct Limits {
        var entries = 20_000
        var bytes = 4 << 20
    }

    private let limits: Limits
    private let makeTable: () throws -> DiskTable
    private var recent: [[UInt8]: [UInt8]] = [:]
    private var recentBytes = 0
    private var disk: DiskTable?
    private var diskHasFailed = false

    init(limits: Limits = Limits(), makeTable: @escaping () throws -> DiskTable = { try DiskTable() }) {
        self.limits = limits
        self.makeTable = makeTable
    }

    /// How many entries are held in memory.
    var residentCount: Int { recent.count }

    subscript(key: String) -> [UInt8]? {
        get { value(of: Array(key.utf8)) }
        set { newValue.map { set(Array(key.utf8), $0) } }
    }

    private func value(of key: [UInt8]) -> [UInt8]? {
        if let value = recent[key] { return value }
        return (try? disk?.value(of: key)) ?? nil
    }

    private func set(_ key: [UInt8], _ value: [UInt8]) {
        if let old = recent.updateValue(value, forKey: key) {
            recentBytes += value.count - old.count
        } else {
            recentBytes += key.count + value.count
        }
        if (recent.count > limits.entries || recentBytes > limits.bytes) && !diskHasFailed { moveToDisk() }
    }

    private func moveToDisk() {
        do {
            if disk == nil { disk = try makeTable() }
            // In the order of the table, so that each page is turned to once.
            let entries = recent.map { (hash: DiskTable.hash($0.key), key: $0.key, value: $0.value) }
            for entry in entries.sorted(by: { $0.hash < $1.hash }) { try disk?.set(entry.key, entry.value) }
            try disk?.flush()
            recent.removeAll(keepingCapacity: true)
            recentBytes = 0
        } catch {
            // What is on disk already stays readable; what is in memory stays there.
            disk?.dropUnwritten()
            diskHasFailed = true
        }
    }
}
