internal import CInflightVips
import InflightImages

/// The error message of a library call.
struct VipsMessage {
    private var text = ""

    /// Calls `body` with a buffer for a message, and stores the message written there.
    mutating func withBuffer<Result>(_ body: (UnsafeMutablePointer<CChar>) -> Result) -> Result {
        let (result, text) = unsafe withUnsafeTemporaryAllocation(
            of: CChar.self, capacity: Int(INFLIGHT_VIPS_MESSAGE)
        ) { buffer in
            let start = buffer.baseAddress!
            unsafe start.pointee = 0
            let result = unsafe body(start)
            return (result, unsafe String(cString: start))
        }
        self.text = text
        return result
    }

    /// The message without its final period. Control characters, which corrupt bytes may contain, become spaces.
    var reason: String {
        let scalars = text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }
        var reason = Substring(String(String.UnicodeScalarView(scalars)))
        while let last = reason.last, last == " " || last == "." { reason.removeLast() }
        return String(reason)
    }

    private static let limits = [
        "unsupported", "not support", "not implemented", "unimplemented", "not configured", "cannot handle",
        "can not handle",
    ]

    func error(_ format: ImageFormat) -> LoadError {
        let lower = reason.lowercased()
        // The libraries use these phrases for a valid image that they do not support.
        if Self.limits.contains(where: lower.contains) {
            return CodecError.unsupported(format, reason)
        }
        return CodecError.damaged(format, reason)
    }
}
