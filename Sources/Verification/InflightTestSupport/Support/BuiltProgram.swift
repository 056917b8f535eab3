internal import Glibc

/// A program that was built with the running one, in the same folder, as a test's programs are beside their bundle.
///
/// `INFLIGHT_SANITIZED_PROGRAMS` names another folder, so that tests of programs run under a sanitizer without being
/// built with it.
package enum BuiltProgram {
    /// The folder of programs that were built with a sanitizer, if the tests run them.
    static let sanitizedFolder = unsafe getenv("INFLIGHT_SANITIZED_PROGRAMS").map { unsafe String(cString: $0) }

    package static func path(_ name: String) -> String {
        if let sanitizedFolder { return sanitizedFolder + "/" + name }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe readlink("/proc/self/exe", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        precondition(count > 0)
        let own = String(decoding: buffer[..<count], as: UTF8.self)
        return String(own[..<own.lastIndex(of: "/")!]) + "/" + name
    }
}
