internal import InflightCore

/// Reads and writes small files as a whole.
enum WholeFile {
    /// Reads at most `limit` bytes.
    static func read(_ path: String, limit: Int, _ fileSystem: any FileSystem) throws(FileError) -> [UInt8] {
        let file = try fileSystem.open(path, for: .reading)
        defer { fileSystem.close(file) }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: limit, alignment: 16)
        defer { unsafe memory.deallocate() }
        var done = 0
        while done < limit {
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[done...])
            let count = try unsafe fileSystem.read(file, at: Int64(done), into: room)
            if count <= 0 { break }
            done += count
        }
        return unsafe [UInt8](memory[..<done])
    }

    /// Replaces the file, and returns once its data survives a power cut.
    static func write(_ bytes: [UInt8], to path: String, _ fileSystem: any FileSystem) throws(FileError) {
        try? fileSystem.remove(path)
        let file = try fileSystem.open(path, for: .creating)
        defer { fileSystem.close(file) }
        try fileSystem.writeAll(file, Bytes(bytes), at: 0)
        try fileSystem.synchronize(file)
    }
}

extension FileSystem {
    /// Writes all of `bytes`, in as many calls as it takes.
    func writeAll(_ file: OpenFile, _ bytes: Bytes, at offset: Int64) throws(FileError) {
        var done = 0
        while done < bytes.count {
            let count = try unsafe bytes.withUnsafeBytes { (memory) throws(FileError) in
                let left = unsafe UnsafeRawBufferPointer(rebasing: memory[done...])
                return try unsafe write(file, left, at: offset + Int64(done))
            }
            // A write of 0 bytes without an error: the disk accepts no more.
            guard count > 0 else { throw .noSpace }
            done += count
        }
    }
}
