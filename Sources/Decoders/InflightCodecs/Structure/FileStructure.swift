import InflightConcurrency
import InflightCore

/// What a codec knows of its files without decoding them: how a header is read, and how the rest is walked.
///
/// From this follow, in the same order for every format, what a codec answers and what is checked before any memory is
/// taken.
protocol FileStructure {
    static var format: ImageFormat { get }

    /// Reads the header at the start of `bytes`, which may be the first part of a file only.
    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderReading<Self>

    /// What the header says, for callers.
    func info(_ bytes: Bytes) -> ImageInfo
}

enum HeaderReading<Structure> {
    case header(Structure)
    /// The header goes on: ask again with at least that many bytes.
    case needsMoreBytes(Int)
}

extension FileStructure {
    static func probe(_ bytes: Bytes, isComplete: Bool) throws(LoadError) -> ProbeResult {
        switch try readHeader(bytes) {
        case .needsMoreBytes(let count):
            if isComplete { throw PictureError.cutShort(format) }
            return .needsMoreBytes(count)
        case .header(let structure):
            return .info(structure.info(bytes))
        }
    }

    /// The header of a whole file.
    static func wholeHeader(_ bytes: Bytes) throws(LoadError) -> Self {
        guard case .header(let structure) = try readHeader(bytes) else { throw PictureError.cutShort(format) }
        return structure
    }

    /// Decodes at the size that is wanted: see ``ImageInfo/makePixels(_:cancellation:filledBy:)``.
    func decode(
        _ bytes: Bytes, options: DecodeOptions, cancellation: CancellationFlag,
        filledBy fill: (ImageInfo, Resize.Plan, UnsafeMutableRawBufferPointer) throws(LoadError) -> Void
    ) throws(LoadError) -> PixelBuffer {
        guard options.page == 0 else { throw PictureError.noPages(Self.format) }
        let info = info(bytes)
        return try unsafe info.makePixels(options, cancellation: cancellation) { (plan, memory) throws(LoadError) in
            try unsafe fill(info, plan, memory)
        }
    }
}
