internal import CInflightCodecs
public import InflightConcurrency
public import InflightImages

/// A codec that reads and writes JPEG with libjpeg-turbo: baseline, progressive and arithmetic coding; grey, colour and
/// CMYK.
///
/// To decode at a smaller size, the library scales the image by 1/2, 1/4 or 1/8 in its inverse transform while at least
/// twice the requested size is left. Each plane is then resized from its own resolution, and colours are converted at
/// the requested size. For resizing in linear light, the whole image is decoded to colours instead.
///
/// A truncated or corrupt image is an error, although the library would continue with a warning. What changes no pixel
/// is accepted: bytes between two segments, invalid values in JFIF, Adobe and ICC headers, a progressive scan's
/// parameters in other scans, and anything or nothing instead of the end marker behind the data of the last scan. That
/// data is whole if the code of every block, and every bit of a progressive image's coefficients, is there. Arithmetic
/// coding does not show its end, so it needs the marker. Lossless, hierarchical and 12-bit files are not supported.
public struct JPEGCodec: ImageCodec {
    /// Creates a codec. It has no state, so all values are alike.
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.jpeg] }
    public var encodableFormats: Set<ImageFormat> { [.jpeg] }

    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try JPEGStructure.probe(bytes, isComplete: isComplete)
    }

    /// Walks the segments. Decodes an image without an end marker, one at a time in the program, within the default
    /// limits of ``DecodeOptions``.
    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        if try JPEGStructure.walk(bytes) { return }
        let options = DecodeOptions()
        let structure = try JPEGStructure.wholeHeader(bytes)
        guard !structure.isArithmetic, structure.coefficientBytes <= options.maximumMemory else {
            throw CodecError.truncated(.jpeg)
        }
        try Self.checkOfEnds.withLock { (_) throws(LoadError) in
            try verify(bytes, format: format, options: options, cancellation: CancellationFlag())
        }
    }

    /// Bounds the memory of all decodes by ``validate(_:format:)``, which no budget counts.
    private static let checkOfEnds = Guarded(())

    public func hasEndMarker(_ bytes: Bytes, format: ImageFormat) -> Bool {
        (try? JPEGStructure.walk(bytes)) ?? false
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

    /// Decodes all coefficients, but computes only the mean of each block. Ignores the size of `options`.
    public func verify(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) {
        guard options.page == 0 else { throw CodecError.pagesUnsupported(format) }
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

    /// Decodes the complete scans of a progressive image, which cover all of it, or the available rows of any other.
    public func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialImage? {
        try JPEGPartialDecoding(bytes, options: options, cancellation: cancellation).decode(beyond: detail)
    }

    /// Resizes luma and chroma each from its own resolution to that of the result, without colours in between. Applies
    /// to upright colour images in sRGB that are scaled down in the values of the file.
    public func reencode(
        _ bytes: Bytes, format: ImageFormat, decoding: DecodeOptions, encoding: EncodeOptions,
        cancellation: CancellationFlag
    ) throws(LoadError) -> Bytes? {
        guard encoding.format == .jpeg, decoding.page == 0 else { return nil }
        let structure = try JPEGStructure.wholeHeader(bytes)
        let info = structure.info(bytes)
        try info.checkPixels(maximum: decoding.maximumPixels)
        try cancellation.check()
        let plan = try decoding.storedPlan(for: info)
        guard info.orientation == .up, structure.componentCount == 3, plan.light == .encoded,
            plan.scaledWidth < info.width, plan.scaledHeight < info.height,
            JPEGDecoding.transform(structure, bytes) == nil
        else { return nil }
        var file: Bytes?
        try JPEGReader.with(bytes, cancellation) { (reader) throws(LoadError) in
            guard Int(reader.header.color) == INFLIGHT_JPEG_YCC else { return }
            let planes = try JPEGDecoding.resizedPlanes(reader, plan, halvesChroma: true)
            try reader.finish()
            file = try JPEGEncoding.encode(planes, options: encoding)
        }
        return file
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try JPEGEncoding.encode(pixels, options: options)
    }
}
