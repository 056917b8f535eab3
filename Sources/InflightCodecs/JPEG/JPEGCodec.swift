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
        switch try JPEGStructure.readHeader(bytes) {
        case .needsMoreBytes(let count):
            if isComplete { throw PictureError.cutShort(.jpeg) }
            return .needsMoreBytes(count)
        case .header(let structure):
            return .info(Self.info(structure, bytes))
        }
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try JPEGStructure.walk(bytes)
    }

    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        guard case .header(let structure) = try JPEGStructure.readHeader(bytes) else {
            throw PictureError.cutShort(.jpeg)
        }
        let info = Self.info(structure, bytes)
        try info.checkPixels(maximum: options.maximumPixels)
        try cancellation.check()
        let plan = try options.storedPlan(for: info)
        // Made first: it may be the largest piece of memory, and is released last.
        let transform = structure.profile(in: bytes).flatMap { profile in
            ColorTransform.forProfile(profile, kind: JPEGDecoding.profileKind(structure))
        }
        return try unsafe PixelFinishing.make(
            plan: plan, hasAlpha: false, orientation: info.orientation, options: options
        ) { (target) throws(LoadError) in
            try JPEGReader.with(bytes, cancellation) { (reader) throws(LoadError) in
                try unsafe JPEGDecoding(reader: reader, plan: plan, target: target, transform: transform).run()
            }
        }
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try JPEGEncoding.encode(pixels, options: options)
    }

    private static func info(_ structure: JPEGStructure, _ bytes: Bytes) -> ImageInfo {
        ImageInfo(
            format: .jpeg, storedWidth: structure.width, storedHeight: structure.height,
            orientation: structure.orientation ?? .up, colorModel: structure.colorModel,
            profileName: structure.profileParts.first.flatMap { ICCProfile(bytes, $0.range).name },
            isProgressive: structure.isProgressive)
    }
}
