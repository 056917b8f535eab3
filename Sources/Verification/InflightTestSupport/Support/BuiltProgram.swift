internal import Glibc

/// A program that was built with the running one, in the same folder, as a test's programs are beside their bundle.
package enum BuiltProgram {
    package static func path(_ name: String) -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe readlink("/proc/self/exe", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        precondition(count > 0)
        let own = String(decoding: buffer[..<count], as: UTF8.self)
        return String(own[..<own.lastIndex(of: "/")!]) + "/" + name
    }
}
