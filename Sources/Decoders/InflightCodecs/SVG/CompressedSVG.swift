internal import CInflightCodecs
public import InflightImages

/// SVG documents compressed with gzip (SVG 2, section "Conforming SVG Interpreters"; RFC 1952), mostly named `.svgz`.
///
/// Memory is bounded: decompression stops at a limit, and a document that exceeds it is refused. Any thread may call a
/// function.
public enum CompressedSVG {
    /// The maximum size of a decompressed document in bytes.
    public static let maximumCount = 32 << 20
    /// The maximum number of bytes decompressed to parse a header, which must be in the first 256 KB.
    private static let headerCount = 1 << 18

    /// Parses the header of the document in `bytes`, which may be only the start of a file.
    ///
    /// The start tag of the root element must be in the first 256 KiB of the document.
    ///
    /// - Parameters:
    ///   - bytes: the start of a gzip file.
    ///   - isComplete: whether `bytes` are the whole file, so that an unfinished header is damaged.
    /// - Throws: ``LoadError/Code/notAnImage`` if the content is not SVG; ``LoadError/Code/damaged`` if the header or
    ///   the compressed data are malformed, or truncated although `bytes` are complete.
    public static func probe(_ bytes: Bytes, isComplete: Bool) throws(LoadError) -> ProbeResult {
        let (part, ending) = try expanded(bytes, limit: headerCount)
        let needed = ProbeResult.needsMoreBytes(bytes.count.saturating(plus: 1024))
        let continues = ending == .truncated && !isComplete
        if ImageFormat.detect(part) != .svg {
            if continues, ImageFormat.isUndecidedMarkup(part) { return needed }
            throw notADrawing
        }
        let result = try IsolatedFormats.probe(part, format: .svg, isComplete: ending == .whole)
        guard case .needsMoreBytes = result else { return result }
        if continues { return needed }
        if ending == .full { throw CodecError.damaged(.svg, "unterminated first element") }
        throw CodecError.truncated(.svg)
    }

    /// Returns the decompressed document of a complete file.
    ///
    /// Whether it is SVG is not checked.
    ///
    /// - Throws: ``LoadError/Code/tooLarge`` if it has more than ``maximumCount`` bytes; ``LoadError/Code/damaged`` if
    ///   the compressed data are truncated or corrupt.
    public static func document(_ bytes: Bytes) throws(LoadError) -> Bytes {
        let (document, ending) = try expanded(bytes, limit: maximumCount)
        switch ending {
        case .whole: return document
        case .truncated: throw CodecError.truncated(.svg)
        case .full:
            throw LoadError(
                .tooLarge, stage: .decode,
                message:
                    "The compressed SVG image expands to more than \(maximumCount >> 20) MiB. Load a smaller one.")
        }
    }

    private static var notADrawing: LoadError {
        LoadError(
            .notAnImage, stage: .decode,
            message: "This is gzip data without an SVG image in it. Check the URL.")
    }

    private enum Ending { case whole, full, truncated }

    private static func expanded(_ bytes: Bytes, limit: Int) throws(LoadError) -> (Bytes, Ending) {
        var capacity = min(limit, max(1 << 16, bytes.count.saturating(times: 8)))
        while true {
            var status: Int32 = 0
            let memory = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { target, count in
                unsafe bytes.withUnsafeBytes { source in
                    guard let base = source.baseAddress, let start = target.baseAddress else { return }
                    unsafe status = inflight_inflate(
                        base.assumingMemoryBound(to: UInt8.self), source.count, start, capacity, &count)
                }
            }
            switch status {
            case Int32(INFLIGHT_INFLATE_WHOLE): return (Bytes(memory), .whole)
            case Int32(INFLIGHT_INFLATE_CUT_SHORT): return (Bytes(memory), .truncated)
            case Int32(INFLIGHT_INFLATE_FULL) where capacity == limit: return (Bytes(memory), .full)
            case Int32(INFLIGHT_INFLATE_FULL): capacity = min(limit, capacity * 4)
            default: throw CodecError.damaged(.svg, "invalid compressed data")
            }
        }
    }
}

extension Int {
    /// Returns the product, or the maximum on overflow.
    fileprivate func saturating(times other: Int) -> Int {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? .max : product
    }
}
