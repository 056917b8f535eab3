public import InflightConcurrency
public import InflightCore

/// PNG by libpng: all kinds of it, 16 bits brought to 8; of an animation the picture that viewers of stills show, or all
/// of its frames.
///
/// A picture that is not interlaced is resized while its rows are read; of one that is, all pixels are held. Any wrong
/// checksum is damage. Orientation is taken from an `eXIf` chunk before the pixels. Colours: an embedded profile, else
/// `sRGB`, else `gAMA`, with `cHRM` or, unless it is about 1 / 2.2, alone; `cICP` is not heeded.
public struct PNGCodec: ImageCodec {
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
            try PNGReader.with(bytes) { (reader) throws(LoadError) in
                try unsafe PNGDecoding(
                    reader: reader, info: info, plan: plan, target: target, cancellation: cancellation
                ).run()
            }
        }
    }

    /// Reads all rows of all passes into the memory of one.
    public func verify(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) {
        guard options.page == 0 else { throw PictureError.noPages(format) }
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
        DecodeMemory.bytes(for: info, options, perPixel: info.isProgressive ? 4 : 0)
    }

    /// Of an interlaced picture what its passes make, as soon as the first is there; of others the rows that are there.
    public func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialPicture? {
        let info = try PNGStructure.wholeHeader(bytes).info(bytes)
        return try unsafe info.makePart(options, coversAll: info.isProgressive, cancellation: cancellation) {
            (plan, target) throws(LoadError) in
            var filled: PartialPicture.Filled?
            // Its header may not be whole yet.
            _ = try LoadError.upToDamage { () throws(LoadError) in
                try PNGReader.with(bytes) { (reader) throws(LoadError) in
                    filled = try unsafe PNGDecoding(
                        reader: reader, info: info, plan: plan, target: target, cancellation: cancellation
                    ).runPart()
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
