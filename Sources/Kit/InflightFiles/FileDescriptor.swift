internal import Glibc

/// The number of an open file or folder. The code that opens it closes it, once.
///
/// Calls block for as long as the file system does, and are repeated when a signal interrupts them.
package struct FileDescriptor: Hashable, Sendable {
    package let number: Int32

    package init(_ number: Int32) {
        self.number = number
    }

    /// Opens a file, which programs that this one starts do not inherit.
    ///
    /// - Parameters:
    ///   - folder: The descriptor of the folder that a relative path starts from.
    ///   - flags: The flags of open(2).
    ///   - permissions: Those of a new file, without what the umask removes.
    package static func open(
        _ path: String, in folder: Int32 = AT_FDCWD, _ flags: Int32, permissions: UInt32 = 0o666
    ) throws(SystemError) -> FileDescriptor {
        while true {
            let number = unsafe openat(folder, path, flags | O_CLOEXEC, permissions)
            if number >= 0 { return FileDescriptor(number) }
            guard errno == EINTR else { throw .last }
        }
    }

    /// Some file systems report only here that the disk is full.
    package func close() throws(SystemError) {
        guard Glibc.close(number) == 0 || errno == EINTR else { throw .last }
    }

    /// Reads until the buffer is full or the file ends, and returns the number of bytes.
    package func read(into room: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        var done = 0
        while done < room.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[done...])
            let count = unsafe pread(number, rest.baseAddress, rest.count, off_t(offset) + done)
            if count == 0 { break }
            if count > 0 { done += count } else if errno != EINTR { throw .last }
        }
        return done
    }

    /// Returns the bytes from an offset to the end of the file, at most `limit`.
    package func read(at offset: Int64, limit: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = try read(into: &bytes, at: offset)
        return Array(bytes[..<count])
    }

    /// Replaces the elements of an array by bytes of the file, and returns how many the file has.
    package func read(into bytes: inout [UInt8], at offset: Int64) throws(SystemError) -> Int {
        var span = bytes.mutableSpan
        return try unsafe span.withUnsafeMutableBytes { (room) throws(SystemError) in
            try unsafe read(into: room, at: offset)
        }
    }

    /// Writes all bytes, at an offset or where the last write has ended.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64? = nil) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count =
                if let offset {
                    unsafe pwrite(number, rest.baseAddress, rest.count, off_t(offset) + done)
                } else {
                    unsafe Glibc.write(number, rest.baseAddress, rest.count)
                }
            // Without an error, the disk accepts no more.
            if count == 0 { throw .noSpace }
            if count > 0 { done += count } else if errno != EINTR { throw .last }
        }
    }

    package func write(_ bytes: [UInt8], at offset: Int64? = nil) throws(SystemError) {
        try unsafe bytes.span.withUnsafeBytes { (bytes) throws(SystemError) in try unsafe write(bytes, at: offset) }
    }

    /// Returns once the written data survives a power cut. For a folder, that covers the names in it.
    package func synchronize() throws(SystemError) {
        guard fsync(number) == 0 else { throw .last }
    }
}
