public import InflightConcurrency
public import InflightCore

/// PNG by libpng: all kinds of it, 16 bits brought to 8; of an animation the picture that viewers of stills show.
///
/// A picture that is not interlaced is resized while its rows are read; of one that is, all pixels are held. Any wrong
/// checksum is damage. Orientation is taken from an `eXIf` chunk before the pixels. Colours: an embedded profile, else
/// `sRGB`, else `gAMA` and `cHRM` where they differ from sRGB; `cICP` is not heeded.
public struct PNGCodec: ImageCodec {
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.png] }
    public var encodableFormats: Set<ImageFormat> { [.png] }

    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        switch try PNGStructure.readHeader(bytes) {
        case .needsMoreBytes(let count):
            if isComplete { throw PictureError.cutShort(.png) }
            return .needsMoreBytes(count)
        case .header(let structure):
            return .info(Self.info(structure))
        }
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try PNGStructure.walk(bytes)
    }

    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        guard case .header(let structure) = try PNGStructure.readHeader(bytes) else {
            throw PictureError.cutShort(.png)
        }
        let info = Self.info(structure)
        try info.checkPixels(maximum: options.maximumPixels)
        try cancellation.check()
        let plan = try options.storedPlan(for: info)
        return try unsafe PixelFinishing.make(
            plan: plan, hasAlpha: info.hasAlpha, orientation: info.orientation, options: options
        ) { (target) throws(LoadError) in
            try PNGReader.with(bytes) { (reader) throws(LoadError) in
                try unsafe PNGDecoding(
                    reader: reader, info: info, plan: plan, target: target, cancellation: cancellation
                ).run()
            }
        }
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try PNGEncoding.encode(pixels)
    }

    private static func info(_ structure: PNGStructure) -> ImageInfo {
        ImageInfo(
            format: .png, storedWidth: structure.width, storedHeight: structure.height,
            orientation: structure.orientation ?? .up, frameCount: structure.frameCount,
            colorModel: structure.colorModel, bitsPerComponent: structure.bitDepth, hasAlpha: structure.hasAlpha,
            profileName: structure.profileName, isProgressive: structure.isInterlaced)
    }
}
