public import InflightConcurrency
public import InflightImages

/// A codec that reads and writes PNG with libpng: all colour types, with 16 bits reduced to 8 after their colours are
/// converted; animations as a still or all frames.
///
/// A non-interlaced image is resized while its rows are read. libdeflate inflates the rows at once if they and the file
/// take at most 16 MiB; otherwise they are inflated one by one. Of an interlaced image, all pixels are held. A wrong
/// checksum is an error in a critical chunk; an optional chunk is then ignored. The orientation is read from an `eXIf`
/// chunk, which may follow the pixels; a probe of the first part of a file finds it only before them.
///
/// Colours follow a `cICP` chunk, else an embedded profile, else an `sRGB` chunk, else a `gAMA` chunk with the
/// primaries of `cHRM` (PNG specification, third edition, section 4.3). Without `cHRM`, the primaries are those of
/// sRGB, and a `gAMA` of about 1 / 2.2 is ignored, because programs that mean sRGB write it. A `cICP` chunk is ignored
/// if a number in it is unknown, or names an HDR curve (PQ, HLG). A faulty animation is a still.
public struct PNGCodec: ImageCodec {
    /// Creates a codec. It has no state, so all values are alike.
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.png] }
    public var encodableFormats: Set<ImageFormat> { [.png] }

    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try PNGStructure.probe(bytes, isComplete: isComplete)
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try PNGStructure.walk(bytes)
    }

    public func metadata(_ bytes: Bytes, format: ImageFormat) throws(LoadError) -> ImageMetadata {
        PNGStructure.metadata(in: bytes)
    }

    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        let structure = try PNGStructure.wholeHeader(bytes)
        return try unsafe structure.decode(bytes, options: options, cancellation: cancellation) {
            (info, plan, target) throws(LoadError) in
            let transform = structure.colorTransform(in: bytes)
            try PNGReader.with(bytes, keepsDepth: transform != nil) { (reader) throws(LoadError) in
                try unsafe PNGDecoding(
                    reader: reader, info: info, transform: transform, plan: plan, target: target,
                    cancellation: cancellation
                ).run()
            }
        }
    }

    /// Decodes all rows of all passes into a buffer of one row. Ignores the size of `options`.
    public func verify(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) {
        guard options.page == 0 else { throw CodecError.pagesUnsupported(format) }
        let info = try PNGStructure.wholeHeader(bytes).info(bytes)
        try info.checkPixels(maximum: options.maximumPixels)
        let row = UnsafeMutablePointer<UInt8>.allocate(capacity: info.storedWidth * 4)
        unsafe row.initialize(repeating: 0, count: info.storedWidth * 4)
        defer { unsafe row.deallocate() }
        let band = CancellationFlag.band(width: info.storedWidth)
        try PNGReader.with(bytes) { (reader) throws(LoadError) in
            for _ in 0..<(reader.isInterlaced ? 7 : 1) {
                for y in 0..<info.storedHeight {
                    if y % band == 0 { try cancellation.check() }
                    try unsafe reader.readRow(row)
                }
            }
            try reader.finish()
        }
    }

    public func memoryNeeded(_ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions) -> Int {
        PNGReader.heldBytes(of: bytes)
            + DecodeMemory.bytes(
                for: info, options, perPixel: !info.isProgressive ? 0 : info.bitsPerComponent == 16 ? 8 : 4)
    }

    /// Decodes the available passes of an interlaced image, at least the first, or the available rows of another image.
    public func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialImage? {
        let structure = try PNGStructure.wholeHeader(bytes)
        let info = structure.info(bytes)
        return try unsafe info.makePart(options, coversAll: info.isProgressive, cancellation: cancellation) {
            (plan, target) throws(LoadError) in
            var filled: PartialImage.Filled?
            let transform = structure.colorTransform(in: bytes)
            // The header may be truncated.
            _ = try LoadError.upToDamage { () throws(LoadError) in
                try PNGReader.with(bytes, keepsDepth: transform != nil) { (reader) throws(LoadError) in
                    filled = try unsafe PNGDecoding(
                        reader: reader, info: info, transform: transform, plan: plan, target: target,
                        cancellation: cancellation
                    ).runPartial()
                }
            }
            return filled
        }
    }

    public func animation(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions
    ) throws(LoadError) -> (any AnimationSource)? {
        try PNGAnimation(bytes, options: options)
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try options.check(.png)
        return try PNGEncoding.encode(pixels, options: options)
    }
}
