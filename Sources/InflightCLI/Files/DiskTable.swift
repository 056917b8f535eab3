/// A hash table in two unnamed files: what is known of a million lines, in a few kilobytes of memory.
///
/// Slots of 16 bytes (hash, place of the record) lie in the order of their hashes' first bits and are probed linearly;
/// so twice as many slots are filled in one sweep over the old ones. A record is two lengths, key and value. Reading
/// and writing go through the kernel's page cache, and one page of slots is held.
final class DiskTable {
    private static let slotSize = 16
    private static let pageSize = 4096
    private static let slotsPerPage = pageSize / slotSize

    private var slots: ScratchFile
    private let records: ScratchFile
    private var bits: Int
    private let limit: Int
    private(set) var count = 0
    private var recordsEnd = 8
    private var page: [UInt64]
    private var pageNumber = -1
    private var pageIsDirty = false

    /// - Parameters:
    ///   - bits: the table begins with two to the power of so many slots.
    ///   - limit: the most bytes that each of its files may take.
    init(bits: Int = 16, limit: Int = .max) throws(SystemError) {
        self.bits = max(8, bits)
        self.limit = limit
        page = [UInt64](repeating: 0, count: Self.slotsPerPage * 2)
        slots = try ScratchFile(limit: limit)
        records = try ScratchFile(limit: limit)
    }

    private var capacity: Int { 1 << bits }

    /// The value of a key. Reads one page, and the record where there is one.
    func value(of key: [UInt8]) throws(SystemError) -> [UInt8]? {
        guard let found = try find(key, hash: Self.hash(key)), let record = found.record else { return nil }
        return record.value
    }

    func set(_ key: [UInt8], _ value: [UInt8]) throws(SystemError) {
        if count * 10 > capacity * 6 { try grow() }
        let hash = Self.hash(key)
        guard let found = try find(key, hash: hash) else { throw SystemError(code: 28) }
        if let record = found.record {
            if record.value == value { return }
            if record.value.count == value.count {
                try write(value, at: record.offset + 8 + key.count)
                return
            }
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8 + key.count + value.count)
        for length in [key.count, value.count] {
            for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: length >> shift)) }
        }
        bytes += key
        bytes += value
        try write(bytes, at: recordsEnd)
        if found.record == nil { count += 1 }
        try setSlot(found.slot, hash: hash, offset: recordsEnd)
        recordsEnd += bytes.count
    }

    /// Never 0, which marks a free slot. Seeded anew in each process, so nobody can choose URLs that collide.
    static func hash(_ key: [UInt8]) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(key)
        return UInt64(truncatingIfNeeded: hasher.finalize()) | 1
    }

    private struct Record {
        var offset: Int
        var value: [UInt8]
    }

    /// The slot that holds the key, or the free one where it belongs; `nil` where there is neither.
    private func find(
        _ key: [UInt8], hash: UInt64
    ) throws(SystemError) -> (slot: Int, record: Record?)? {
        var slot = home(hash)
        for _ in 0..<capacity {
            let (found, offset) = try self.slot(slot)
            if found == 0 { return (slot, nil) }
            if found == hash, let value = try value(ofRecordAt: offset, key: key) {
                return (slot, Record(offset: offset, value: value))
            }
            slot = (slot + 1) & (capacity - 1)
        }
        return nil
    }

    private func home(_ hash: UInt64) -> Int {
        Int(hash >> UInt64(64 - bits))
    }

    /// The value, if the record is that key's.
    private func value(ofRecordAt offset: Int, key: [UInt8]) throws(SystemError) -> [UInt8]? {
        let lengths = try read(8, at: offset)
        func length(_ start: Int) -> Int { (0..<4).reduce(0) { $0 | Int(lengths[start + $1]) << (8 * $1) } }
        guard length(0) == key.count else { return nil }
        let rest = try read(key.count + length(4), at: offset + 8)
        return rest.starts(with: key) ? Array(rest[key.count...]) : nil
    }

    private func read(_ count: Int, at offset: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = unsafe bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(SystemError) in try unsafe records.read(buffer, at: offset) }
        }
        try result.get()
        return bytes
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        let result = unsafe bytes.withUnsafeBytes { buffer in
            Result { () throws(SystemError) in try unsafe records.write(buffer, at: offset) }
        }
        try result.get()
    }

    // MARK: Slots

    private func slot(_ number: Int) throws(SystemError) -> (hash: UInt64, offset: Int) {
        try turn(to: number / Self.slotsPerPage)
        let index = number % Self.slotsPerPage * 2
        return (page[index], Int(page[index + 1]))
    }

    private func setSlot(_ number: Int, hash: UInt64, offset: Int) throws(SystemError) {
        try turn(to: number / Self.slotsPerPage)
        let index = number % Self.slotsPerPage * 2
        page[index] = hash
        page[index + 1] = UInt64(offset)
        pageIsDirty = true
    }

    private func turn(to number: Int) throws(SystemError) {
        guard number != pageNumber else { return }
        try flush()
        // Not this page, should reading fail.
        pageNumber = -1
        let result = unsafe page.withUnsafeMutableBytes { buffer in
            Result { () throws(SystemError) in try unsafe slots.read(buffer, at: number * Self.pageSize) }
        }
        try result.get()
        pageNumber = number
    }

    /// Writes what is held. What was set before is found from now on, even if ``set(_:_:)`` fails later and
    /// ``dropUnwritten()`` is called.
    func flush() throws(SystemError) {
        guard pageIsDirty else { return }
        let result = unsafe page.withUnsafeBytes { buffer in
            Result { () throws(SystemError) in try unsafe slots.write(buffer, at: pageNumber * Self.pageSize) }
        }
        try result.get()
        pageIsDirty = false
    }

    /// Forgets what is held and cannot be written, so that what was written can be read.
    func dropUnwritten() {
        pageIsDirty = false
        pageNumber = -1
    }

    /// Goes on with twice as many slots; where there is no room for them, with those that it has.
    private func grow() throws(SystemError) {
        try flush()
        let old = slots
        let larger = try ScratchFile(limit: limit)
        (slots, bits, pageNumber) = (larger, bits + 1, -1)
        do throws(SystemError) {
            try fill(from: old, capacity: capacity / 2)
            // Not before all of it is on disk can the old slots be let go of.
            try flush()
        } catch {
            (slots, bits) = (old, bits - 1)
            dropUnwritten()
            throw error
        }
    }

    private func fill(from old: ScratchFile, capacity oldCapacity: Int) throws(SystemError) {
        var oldPage = [UInt64](repeating: 0, count: Self.slotsPerPage * 2)
        for number in 0..<oldCapacity / Self.slotsPerPage {
            let result = unsafe oldPage.withUnsafeMutableBytes { buffer in
                Result { () throws(SystemError) in try unsafe old.read(buffer, at: number * Self.pageSize) }
            }
            try result.get()
            for index in stride(from: 0, to: oldPage.count, by: 2) where oldPage[index] != 0 {
                var slot = home(oldPage[index])
                while try self.slot(slot).hash != 0 { slot = (slot + 1) & (capacity - 1) }
                try setSlot(slot, hash: oldPage[index], offset: Int(oldPage[index + 1]))
            }
        }
    }
}
