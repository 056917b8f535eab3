public import InflightConcurrency
public import InflightCore

/// JPEG by libjpeg-turbo: baseline, progressive and arithmetic coding; grey, colour and CMYK.
///
/// A picture that is wanted smaller is decoded in planes: the library reduces by 2, 4 or 8 in its transform while at
/// least twice the wanted size is left, each plane is resized from its own resolution, and colours are made at the
/// wanted size. In linear light none of that is done: all of the picture is decoded to colours.
///
/// A picture that ends too early or whose data is corrupt is damaged, though the library would go on with a warning. Let
/// pass are bytes between two segments, and odd values in the headers of JFIF, Adobe and ICC, which change no pixel.
/// Lossless and hierarchical files, and those of 12 bits, are not read.
public struct JPEGCodec: ImageCodec {
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.jpeg] }
    public var encodableFormats: Set<ImageFormat> { [.jpeg] }

    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try JPEGStructure.probe(bytes, isComplete: isComplete)
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try JPEGStructure.walk(bytes)
    }

    public func metadata(_ bytes: Bytes, format: ImageFormat) throws(LoadError) -> ImageMetadata {
        let structure = try JPEGStructure.wholeHeader(bytes)
        return ImageMetadata(
            exifBytes: structure.exif.flatMap { bytes.metadataPart($0) },
            xmpBytes: structure.xmp.flatMap { bytes.metadataPart($0) })
    }

    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        let structure = try JPEGStructure.wholeHeader(bytes)
        return try unsafe structure.decode(bytes, options: options, cancellation: cancellation) {
            (_, plan, target) throws(LoadError) in
            let transform = JPEGDecoding.transform(structure, bytes)
            try JPEGReader.with(bytes, cancellation) { (reader) throws(LoadError) in
                try unsafe JPEGDecoding(reader: reader, plan: plan, target: target, transform: transform).run()
            }
        }
    }

    /// Reads all coefficients; of each block only the mean is made.
    public func verify(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) {
        guard options.page == 0 else { throw PictureError.noPages(format) }
        try JPEGStructure.wholeHeader(bytes).info(bytes).checkPixels(maximum: options.maximumPixels)
        try JPEGReader.with(bytes, cancellation) { (reader) throws(LoadError) in
            let bands = JPEGPlaneBands(try reader.startPlanes(denominator: 8).planes)
            while try unsafe reader.readPlanes(bands.memory) {}
            try reader.finish()
        }
    }

    public func memoryNeeded(_ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions) -> Int {
        guard case .header(let structure)? = try? JPEGStructure.readHeader(bytes) else { return 0 }
        return structure.coefficientBytes + DecodeMemory.bytes(for: info, options, perPixel: 0)
    }

    /// Of a progressive picture what its finished scans make, from its edges to its edges; of others the rows that are
    /// there, as soon as there is one.
    public func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialPicture? {
        try JPEGPart(bytes, options: options, cancellation: cancellation).decode(beyond: detail)
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try JPEGEncoding.encode(pixels, options: options)
    }
}
