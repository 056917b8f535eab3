internal import Glibc

/// The first row of each URL, or of each key, in a file without a name.
///
/// An extendible hash table (Fagin et al., 1979): a directory in memory leads from the low bits of a URL's hash to a
/// bucket of 4 KiB in the file, so that a look-up reads one bucket, and the table grows by dividing one bucket at a
/// time. Memory: about 16 KiB for a million URLs; the file: about 24 MB. Different URLs with equal 88-bit hashes would
/// be taken for the same. The key of the hash is random in each process, so such URLs cannot be chosen, and among
/// 10,000,000 URLs the probability is below 10⁻¹².
///
/// Not safe for concurrent use. Each call may read and write, and so blocks its thread.
package final class URLIndex {
    private static let bucketSize = 4096
    private static let headerSize = 16
    private static let entrySize = 16
    private static let capacity = (bucketSize - headerSize) / entrySize
    /// The number of bits of an entry's second word that hold the row. The others hold 24 bits of the hash.
    private static let rowBits = UInt64(40)
    /// Deeper than any number of rows needs.
    private static let maximumDepth = 31

    private struct Entry {
        var low: UInt64
        var high: UInt64

        var row: Int { Int(high & (1 << URLIndex.rowBits - 1)) }
    }

    /// The number of URLs.
    package private(set) var count = 0

    private let file: OpenFile
    private var depth = 0
    private var directory: [UInt32] = [0]
    private var bucketCount: UInt32 = 1
    private var bucket = [UInt8](repeating: 0, count: bucketSize)

    /// Creates an index without URLs.
    ///
    /// - Parameter folder: A folder on a disk with room for the file, which is gone when the process ends.
    /// - Throws: ``BatchFailure`` if the file cannot be created.
    package init(in folder: String) throws(BatchFailure) {
        file = try OpenFile(temporary: folder + "/urls.partial")
        try write(0)
    }

    /// Returns the first row with this URL, or `nil` if there is none; then this row is the first.
    ///
    /// - Parameters:
    ///   - url: The URL, normalised by the caller.
    ///   - row: The number of the row, below 2⁴⁰.
    ///   - replaces: Whether this row then takes the place of the first one.
    /// - Throws: ``BatchFailure`` if the file cannot be read or written.
    package func firstRow(_ url: String, orInsert row: Int, replaces: Bool = false) throws(BatchFailure) -> Int? {
        guard row >= 0, row < 1 << Self.rowBits else { throw .output(.write, file.path, EFBIG) }
        var low = Hasher()
        var high = Hasher()
        low.combine(0)
        high.combine(1)
        low.combine(url)
        high.combine(url)
        let mask: UInt64 = 1 << Self.rowBits - 1
        let entry = Entry(
            low: UInt64(bitPattern: Int64(low.finalize())),
            high: UInt64(bitPattern: Int64(high.finalize())) & ~mask | UInt64(row))
        while true {
            let number = directory[slot(entry)]
            try read(number)
            for index in 0..<entryCount {
                let found = self.entry(index)
                guard found.low == entry.low, found.high & ~mask == entry.high & ~mask else { continue }
                if replaces {
                    store(entry, at: index)
                    try write(number, from: offset(index), count: Self.entrySize)
                }
                return found.row
            }
            guard entryCount == Self.capacity else {
                store(entry, at: entryCount)
                entryCount += 1
                count += 1
                // The header and the new entry: the rest of the bucket is in the file.
                try write(number, from: 0, count: Self.headerSize)
                try write(number, from: offset(entryCount - 1), count: Self.entrySize)
                return nil
            }
            try divide(number)
        }
    }

    // MARK: Directory

    private func slot(_ entry: Entry) -> Int { Int(truncatingIfNeeded: entry.low) & (1 << depth - 1) }

    /// Divides the full bucket in memory by the next bit of its entries' hashes.
    private func divide(_ number: UInt32) throws(BatchFailure) {
        let bit = bucketDepth
        guard bit < Self.maximumDepth else { throw .output(.write, file.path, EFBIG) }
        if bit == depth {
            directory += directory
            depth += 1
        }
        let other = bucketCount
        bucketCount += 1
        let entries = (0..<entryCount).map(entry)
        for (target, side) in [(number, UInt64(0)), (other, 1)] {
            entryCount = 0
            bucketDepth = bit + 1
            for entry in entries where entry.low >> bit & 1 == side {
                store(entry, at: entryCount)
                entryCount += 1
            }
            try write(target)
        }
        for index in directory.indices where directory[index] == number && index >> bit & 1 == 1 {
            directory[index] = other
        }
    }

    // MARK: The bucket in memory

    private var entryCount: Int {
        get { Int(bucket[0]) | Int(bucket[1]) << 8 }
        set {
            bucket[0] = UInt8(newValue & 0xFF)
            bucket[1] = UInt8(newValue >> 8)
        }
    }

    private var bucketDepth: Int {
        get { Int(bucket[2]) }
        set { bucket[2] = UInt8(newValue) }
    }

    private func offset(_ index: Int) -> Int { Self.headerSize + index * Self.entrySize }

    private func entry(_ index: Int) -> Entry {
        unsafe bucket.withUnsafeBytes {
            unsafe Entry(
                low: $0.loadUnaligned(fromByteOffset: offset(index), as: UInt64.self),
                high: $0.loadUnaligned(fromByteOffset: offset(index) + 8, as: UInt64.self))
        }
    }

    private func store(_ entry: Entry, at index: Int) {
        unsafe bucket.withUnsafeMutableBytes {
            unsafe $0.storeBytes(of: entry.low, toByteOffset: offset(index), as: UInt64.self)
            unsafe $0.storeBytes(of: entry.high, toByteOffset: offset(index) + 8, as: UInt64.self)
        }
    }

    // MARK: File

    private func read(_ number: UInt32) throws(BatchFailure) {
        try file.read(&bucket, at: Int64(number) * Int64(Self.bucketSize))
    }

    private func write(_ number: UInt32, from start: Int = 0, count: Int = bucketSize) throws(BatchFailure) {
        try file.write(bucket[start..<start + count], at: Int64(number) * Int64(Self.bucketSize) + Int64(start))
    }
}
