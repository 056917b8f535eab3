import Glibc

/// What the system says about a failed call.
struct SystemError: Error, Equatable {
    var code: Int32

    static var last: SystemError { SystemError(code: errno) }

    /// In words, such as "No space left on device".
    var text: String {
        // Links are refused here, not only where there are too many.
        if code == ELOOP { return "It is a symbolic link that is not followed" }
        var buffer = [CChar](repeating: 0, count: 256)
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            unsafe strerror_r(code, buffer.baseAddress!, buffer.count) == 0
                ? String(cString: buffer.baseAddress!) : "error \(code)"
        }
    }
}
