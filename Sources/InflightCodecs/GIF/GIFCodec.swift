public import InflightConcurrency
public import InflightCore

/// GIF by giflib: the first frame on its canvas, transparent where it does not cover it. Not written.
public struct GIFCodec: ImageCodec {
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.gif] }
    public var encodableFormats: Set<ImageFormat> { [] }

    /// In a part of an animation, the frames are counted that begin in it.
    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        switch try GIFStructure.readHeader(bytes) {
        case .needsMoreBytes(let count):
            if isComplete { throw PictureError.cutShort(.gif) }
            return .needsMoreBytes(count)
        case .header(let structure):
            return .info(Self.info(structure))
        }
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try GIFStructure.walk(bytes)
    }

    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        guard case .header(let structure) = try GIFStructure.readHeader(bytes) else {
            throw PictureError.cutShort(.gif)
        }
        let info = Self.info(structure)
        try info.checkPixels(maximum: options.maximumPixels)
        // A frame may be larger than the canvas that it is cut off by.
        var frame = info
        frame.storedWidth = structure.frameWidth
        frame.storedHeight = structure.frameHeight
        try frame.checkPixels(maximum: options.maximumPixels)
        try cancellation.check()
        let plan = try options.storedPlan(for: info)
        return try unsafe PixelFinishing.make(
            plan: plan, hasAlpha: info.hasAlpha, orientation: .up, options: options
        ) { (target) throws(LoadError) in
            try GIFReader.with(bytes) { (reader) throws(LoadError) in
                try unsafe GIFDecoding(
                    reader: reader, structure: structure, plan: plan, target: target, cancellation: cancellation
                ).run()
            }
        }
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        throw LoadError(
            .unsupportedFormat, stage: .encode, message: "GIF is not written. Choose jpeg, png or webp.")
    }

    private static func info(_ structure: GIFStructure) -> ImageInfo {
        ImageInfo(
            format: .gif, storedWidth: structure.width, storedHeight: structure.height,
            frameCount: structure.frameCount, colorModel: .indexed, hasAlpha: structure.hasAlpha,
            isProgressive: structure.isInterlaced)
    }
}
