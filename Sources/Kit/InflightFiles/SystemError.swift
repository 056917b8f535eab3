internal import Glibc

/// The error of a failed system call.
package struct SystemError: Error, Hashable, Sendable {
    package var code: Int32

    package init(code: Int32) {
        self.code = code
    }

    /// The error of the last call on this thread.
    package static var last: SystemError { SystemError(code: errno) }

    /// No file has that name.
    package static var isMissing: SystemError { SystemError(code: ENOENT) }

    package static var inputOutput: SystemError { SystemError(code: EIO) }
    package static var noSpace: SystemError { SystemError(code: ENOSPC) }

    /// Whether there is no space on the disk, or none for this user.
    package var isFull: Bool { code == ENOSPC || code == EDQUOT }

    /// The system's message, such as "No space left on device".
    package var systemText: String {
        var buffer = [CChar](repeating: 0, count: 256)
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            unsafe strerror_r(code, buffer.baseAddress!, buffer.count) == 0
                ? String(cString: buffer.baseAddress!) : "error \(code)"
        }
    }

    /// ``systemText``, or what it means for files that are opened without following links: the system has one code for
    /// a link that was refused and for too many links.
    package var text: String { code == ELOOP ? "Symbolic link not followed" : systemText }
}
