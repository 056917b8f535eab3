public import InflightConcurrency
public import InflightCore

/// JPEG by libjpeg-turbo: baseline, progressive and arithmetic coding; grey, colour and CMYK.
///
/// A picture that is wanted smaller is decoded in planes: the library reduces by 2, 4 or 8 in its transform while at
/// least twice the wanted size is left, each plane is resized from its own resolution, and colours are made at the
/// wanted size.
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
            let transform = structure.profile(in: bytes).flatMap { profile in
                ColorTransform.forProfile(profile, kind: JPEGDecoding.profileKind(structure))
            }
            try JPEGReader.with(bytes, cancellation) { (reader) throws(LoadError) in
                try unsafe JPEGDecoding(reader: reader, plan: plan, target: target, transform: transform).run()
            }
        }
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try JPEGEncoding.encode(pixels, options: options)
    }
}
