internal import Glibc
internal import InflightConcurrency
internal import InflightCore
internal import InflightSQLite

/// The folder of images that wait for their shard, in one file for each shard.
///
/// Images are appended in the order in which their rows end. Creating and removing a file for each would take up to a
/// third of the CPU time of a run on ext4. Nothing is synchronized: after a power cut, any bytes may be missing or
/// zero, and ``holds(_:shard:)`` tells which images that concerns. At most ``openFileLimit`` files are open. Safe from
/// any thread. Each call may read and write, and so blocks its thread.
// Unchecked: `shards` is accessed only with the lock.
final class StagingFolder: @unchecked Sendable {
    static let name = "staging"
    /// The number of bytes to read at a time.
    private static let chunkSize = 256 * 1024

    private static let openFileLimit = 64

    private struct Shard {
        /// The file, unless it was closed to open others. Threads that use it then close it.
        var file: OpenFile?
        /// The offset of the next image.
        var end: Int64
    }

    let path: String
    private let lock = Lock()
    private var shards: [Int: Shard] = [:]
    /// The shards whose files are open, the one that was used last at the end.
    private var openShards: [Int] = []

    /// Creates the folder in the folder of the output.
    init(in folder: String) throws(BatchFailure) {
        path = folder + "/" + Self.name
        try OutputFolder.create(path)
    }

    /// The path of the images of a shard.
    func file(_ shard: Int) -> String { "\(path)/\(shard)" }

    /// Returns whether the file of a shard has an image as it was appended. Reads all of it, unless the file is too
    /// short. Of an image without a checksum, it compares the length only.
    func holds(_ image: StagedImage, shard: Int) throws(BatchFailure) -> Bool {
        let (end, overflow) = image.offset.addingReportingOverflow(image.size)
        guard image.offset >= 0, image.size >= 0, !overflow else { return false }
        let found = try lock.withLock { () throws(BatchFailure) in try opened(shard) }
        guard end <= found.end else { return false }
        guard let sum = image.sum else { return true }
        do throws(BatchFailure) {
            return try Self.sum(of: image.offset..<end, in: found.file) == sum
        } catch {
            // Without a number, the file is shorter than it was. A bad block of the disk is an input/output error.
            guard case .output(let output) = error, output.number == 0 || output.number == EIO else { throw error }
            return false
        }
    }

    private static func sum(of range: Range<Int64>, in file: OpenFile) throws(BatchFailure) -> UInt64 {
        var sum = XXH64(seed: 0)
        var bytes: [UInt8] = []
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = Int(min(Int64(chunkSize), range.upperBound - offset))
            if bytes.count != count { bytes = [UInt8](repeating: 0, count: count) }
            try file.read(&bytes, at: offset)
            sum.add(bytes)
            offset += Int64(count)
        }
        return sum.value
    }

    /// Appends an image. It is incomplete if the process ends meanwhile, so record it only afterwards.
    ///
    /// - Returns: Its place in the shard's file, and its checksum.
    func append(_ image: Bytes, shard: Int) throws(BatchFailure) -> StagedImage {
        let (file, offset) = try reserve(Int64(image.count), shard)
        let sum = try unsafe image.withUnsafeBytes { (bytes) throws(BatchFailure) in
            try unsafe file.write(bytes, at: offset)
            return unsafe XXH64.of(bytes, seed: 0)
        }
        return StagedImage(offset: offset, size: Int64(image.count), sum: sum)
    }

    /// Removes the images of a shard, also while another thread reads them.
    func remove(shard: Int) throws(BatchFailure) {
        lock.withLock {
            shards[shard] = nil
            openShards.removeAll { $0 == shard }
        }
        try OutputFolder.remove(file: file(shard))
    }

    /// Removes everything but the images of some shards.
    func removeFiles(keeping isKept: (Int) -> Bool) throws(BatchFailure) {
        for name in try OutputFolder.names(in: path) {
            if let shard = Int(name), isKept(shard) { continue }
            try OutputFolder.removeAny("\(path)/\(name)")
        }
    }

    private func reserve(_ size: Int64, _ shard: Int) throws(BatchFailure) -> (OpenFile, Int64) {
        try lock.withLock { () throws(BatchFailure) in
            let found = try opened(shard)
            shards[shard]?.end += size
            return found
        }
    }

    /// Returns the file of a shard, and the offset of its next image. The caller has the lock.
    private func opened(_ shard: Int) throws(BatchFailure) -> (file: OpenFile, end: Int64) {
        if openShards.last != shard {
            openShards.removeAll { $0 == shard }
            openShards.append(shard)
        }
        if let found = shards[shard], let file = found.file { return (file, found.end) }
        let file = try OpenFile(file(shard), O_RDWR | O_CREAT, .create)
        guard let size = try file.size() else { throw .output(damaged: file.path, "It is not a file.") }
        // Images whose place is reserved may not be written yet.
        let end = shards[shard]?.end ?? size
        shards[shard] = Shard(file: file, end: end)
        if openShards.count > Self.openFileLimit { shards[openShards.removeFirst()]?.file = nil }
        return (file, end)
    }
}
