import InflightConcurrency
import InflightImages

/// The parser of one format, which reads headers and checks files without decoding.
///
/// It determines, in the same order for every format, a codec's results and the checks before any memory is allocated.
protocol FileStructure {
    static var format: ImageFormat { get }

    /// Parses the header at the start of `bytes`, which may be only the start of a file.
    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<Self>

    /// Returns the public description of the header.
    func info(_ bytes: Bytes) -> ImageInfo
}

enum HeaderResult<Structure> {
    case header(Structure)
    /// The header is longer. Call again with at least this number of bytes.
    case needsMoreBytes(Int)
}

extension FileStructure {
    static func probe(_ bytes: Bytes, isComplete: Bool) throws(LoadError) -> ProbeResult {
        switch try readHeader(bytes) {
        case .needsMoreBytes(let count):
            if isComplete { throw CodecError.truncated(format) }
            return .needsMoreBytes(count)
        case .header(let structure):
            return .info(structure.info(bytes))
        }
    }

    /// Parses the header of a complete file.
    static func wholeHeader(_ bytes: Bytes) throws(LoadError) -> Self {
        guard case .header(let structure) = try readHeader(bytes) else { throw CodecError.truncated(format) }
        return structure
    }

    /// Decodes at the requested size: see ``ImageInfo/makePixels(_:cancellation:filledBy:)``.
    func decode(
        _ bytes: Bytes, options: DecodeOptions, cancellation: CancellationFlag,
        filledBy fill: (ImageInfo, Resize.Plan, UnsafeMutableRawBufferPointer) throws(LoadError) -> Void
    ) throws(LoadError) -> PixelBuffer {
        guard options.page == 0 else { throw CodecError.pagesUnsupported(Self.format) }
        let info = info(bytes)
        return try unsafe info.makePixels(options, cancellation: cancellation) { (plan, memory) throws(LoadError) in
            try unsafe fill(info, plan, memory)
        }
    }
}
