internal import Glibc

/// Where the programs are that belong to the running one.
package enum ProgramLocation {
    /// The paths at which a program may be, in the order of the search: beside the running program, then in
    /// `../libexec/inflight` from there.
    ///
    /// Empty without `/proc`, which tells the running program's folder. The working folder is no place to search: it
    /// may hold programs of another user.
    package static func besideProgram(_ name: String) -> [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe readlink("/proc/self/exe", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        guard count > 0, count < buffer.count else { return [] }
        let parts = String(decoding: buffer[..<count], as: UTF8.self).split(separator: "/").dropLast()
        let folder = parts.map { "/" + $0 }.joined()
        let above = parts.dropLast().map { "/" + $0 }.joined()
        return ["\(folder)/\(name)", "\(above)/libexec/inflight/\(name)"]
    }
}
