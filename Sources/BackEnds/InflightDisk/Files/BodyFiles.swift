internal import InflightCore
internal import InflightFiles
internal import InflightSQLite

/// Files that hold one body each.
struct BodyFiles: Sendable {
    let paths: CachePaths
    let fileSystem: any FileSystem
    let synchronizes: Bool

    /// Writes a new file. If this throws, the caller must remove the remains.
    func write(_ file: Int64, _ pieces: [Bytes]) throws(SystemError) {
        let open = try create(file)
        defer { try? open.close() }
        var offset: Int64 = 0
        for piece in pieces {
            try fileSystem.write(open, piece, at: offset)
            offset += Int64(piece.count)
        }
        if synchronizes {
            try fileSystem.synchronize(open)
            try synchronizeFolder(paths.bodyFolder(file))
        }
    }

    /// Appends to the existing file.
    func extend(_ file: Int64, at offset: Int64, by bytes: Bytes) throws(SystemError) {
        let open = try fileSystem.open(paths.body(file), for: .extending)
        defer { try? open.close() }
        try fileSystem.write(open, bytes, at: offset)
        if synchronizes { try fileSystem.synchronize(open) }
    }

    private func create(_ file: Int64) throws(SystemError) -> FileDescriptor {
        // A store that removes the last file of a folder also removes the folder, at any moment.
        for _ in 0..<8 {
            do {
                return try fileSystem.open(paths.body(file), for: .creating)
            } catch {
                guard error == .isMissing else { throw error }
            }
            do {
                try fileSystem.makeFolder(paths.bodyFolder(file))
                if synchronizes { try synchronizeFolder(paths.bodies) }
            } catch {
                guard error == .isMissing else { throw error }
            }
        }
        return try fileSystem.open(paths.body(file), for: .creating)
    }

    private func synchronizeFolder(_ path: String) throws(SystemError) {
        let folder = try fileSystem.open(path, for: .reading)
        defer { try? folder.close() }
        try fileSystem.synchronize(folder)
    }

    /// Returns the first `length` bytes and their checksum, or nil if the file is shorter.
    func read(_ file: Int64, length: Int64, seed: UInt64) throws(SystemError) -> (bytes: Bytes, sum: UInt64)? {
        let open = try fileSystem.open(paths.body(file), for: .reading)
        defer { try? open.close() }
        // Checked before memory is allocated.
        let status = try fileSystem.status(open)
        guard !status.isFolder, status.size >= length, let count = Int(exactly: length) else { return nil }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, count), alignment: 16)
        let bytes = unsafe Bytes(adopting: UnsafeRawBufferPointer(rebasing: memory[..<count])) {
            unsafe UnsafeMutableRawPointer(mutating: $0.baseAddress)?.deallocate()
        }
        var sum = XXH64(seed: seed)
        var done = 0
        while done < count {
            // Read in pieces that stay in the processor's cache until they have been summed.
            let end = min(count, done + (256 << 10))
            let read = try unsafe fileSystem.read(
                open, at: Int64(done), into: UnsafeMutableRawBufferPointer(rebasing: memory[done..<end]))
            guard read == end - done else { return nil }
            unsafe sum.add(UnsafeRawBufferPointer(rebasing: memory[done..<end]))
            done = end
        }
        return (bytes, sum.value)
    }

    /// Removes a file, and its folder if that is then empty. Returns whether the file no longer exists.
    func remove(_ file: Int64) -> Bool {
        do {
            try fileSystem.remove(paths.body(file))
        } catch {
            guard error == .isMissing else { return false }
        }
        try? fileSystem.removeFolder(paths.bodyFolder(file))
        return true
    }

    func removeEmptyFolders() {
        for name in (try? fileSystem.names(in: paths.bodies)) ?? [] {
            try? fileSystem.removeFolder(paths.bodies + "/" + name)
        }
    }
}
