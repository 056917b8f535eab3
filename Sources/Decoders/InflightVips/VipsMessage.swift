internal import CInflightVips
import InflightImages

/// The error message of a library call.
struct VipsMessage {
    /// The message in one line, without its final period. Control characters, which corrupt bytes may contain, become
    /// spaces.
    private(set) var text = ""

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
        self.text = Self.line(text)
        return result
    }

    private static func line(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }
        var line = Substring(String(String.UnicodeScalarView(scalars)))
        while let last = line.last, last == " " || last == "." { line.removeLast() }
        return String(line)
    }

    /// A phrase by which libraries report a failure, and what it means.
    struct Phrase {
        /// Part of the library's text, in lower case.
        let text: String
        let meaning: Meaning

        /// The image is corrupt: see ``CodecError/damaged(_:_:)``.
        static func damaged(_ text: String, _ what: String) -> Phrase { Phrase(text: text, meaning: .damaged(what)) }
        static func truncated(_ text: String) -> Phrase { Phrase(text: text, meaning: .truncated) }
        /// The image is valid, and not supported: see ``CodecError/unsupported(_:_:)``.
        static func unsupported(_ text: String, _ what: String) -> Phrase {
            Phrase(text: text, meaning: .unsupported(what))
        }
        static func noMemory(_ text: String) -> Phrase { Phrase(text: text, meaning: .noMemory) }
    }

    enum Meaning {
        case damaged(String)
        case truncated
        case unsupported(String)
        case noMemory
    }

    /// Returns the error that says in plain words what the library reported. The library's text becomes the underlying
    /// error.
    func error(_ format: ImageFormat) -> LoadError {
        if format == .tiff, let error = tiffError { return error }
        let lower = text.lowercased()
        let phrase = (Self.phrases(format) + Self.common).first { lower.contains($0.text) }
        let error =
            switch phrase?.meaning {
            case .damaged(let what): CodecError.damaged(format, what)
            case .truncated: CodecError.truncated(format)
            case .unsupported(let what): CodecError.unsupported(format, what)
            case .noMemory: CodecError.outOfMemory
            case nil: CodecError.damaged(format, "its data cannot be decoded")
            }
        return error.caused(byLibrary: text)
    }

    /// The phrases of one format, of which the first that occurs counts.
    private static func phrases(_ format: ImageFormat) -> [Phrase] {
        switch format {
        case .avif, .heic: heif
        case .jpegXL: jpegXL
        case .svg: svg
        case .tiff: tiff
        default: []
        }
    }

    /// The phrases that follow those of a format.
    private static let common: [Phrase] =
        [.noMemory("out of memory"), .noMemory("memory allocation"), .truncated("unexpected end of file")]
        + [
            "unsupported", "not support", "not implemented", "unimplemented", "not configured", "cannot handle",
            "can not handle",
        ].map { .unsupported($0, "its decoder does not support it") }
}
