internal import Glibc

/// The error code of a failed system call.
package struct SystemError: Error, Equatable {
    package var code: Int32

    package init(code: Int32) {
        self.code = code
    }

    package static var last: SystemError { SystemError(code: errno) }

    /// The system's message, such as "No space left on device".
    package var text: String {
        // The code is also used for a single link that was refused, not only for too many links.
        if code == ELOOP { return "Symbolic link not followed" }
        var buffer = [CChar](repeating: 0, count: 256)
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            unsafe strerror_r(code, buffer.baseAddress!, buffer.count) == 0
                ? String(cString: buffer.baseAddress!) : "error \(code)"
        }
    }
}
