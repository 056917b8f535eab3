import Glibc

/// What the system says about a failed call.
struct SystemError: Error, Equatable {
    var code: Int32

    static var last: SystemError { SystemError(code: errno) }

    /// In words, such as "No space left on device".
    var text: String {
        var buffer = [CChar](repeating: 0, count: 256)
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            unsafe strerror_r(code, buffer.baseAddress!, buffer.count) == 0
                ? String(cString: buffer.baseAddress!) : "error \(code)"
        }
    }
}
