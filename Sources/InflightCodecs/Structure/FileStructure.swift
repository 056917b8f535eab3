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

    /// Checks what `options` allow on the header's word, then has `fill` decode into memory for what the plan keeps: red,
    /// green, blue and straight alpha in sRGB, as stored. Brings it into the form that is wanted.
    func decode(
        _ bytes: Bytes, options: DecodeOptions, cancellation: CancellationFlag,
        filledBy fill: (ImageInfo, Resize.Plan, UnsafeMutableRawBufferPointer) throws(LoadError) -> Void
    ) throws(LoadError) -> PixelBuffer {
        let info = info(bytes)
        try info.checkPixels(maximum: options.maximumPixels)
        try cancellation.check()
        let plan = try options.storedPlan(for: info)
        let format = options.pixelFormat(hasAlpha: info.hasAlpha)
        let memory = try PixelMemory(width: plan.width, height: plan.height)
        try unsafe fill(info, plan, memory.bytes)
        unsafe PixelBuffer.bring(memory.bytes, from: info.hasAlpha ? .rgba : .rgbx, to: format)
        let pixels = PixelBuffer(
            width: plan.width, height: plan.height, bytesPerRow: plan.width * format.bytesPerPixel, format: format,
            bytes: memory.shared)
        return pixels.oriented(info.orientation)
    }
}
