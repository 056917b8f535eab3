package import InflightConcurrency

/// The displayable part of a truncated or damaged image.
public struct PartialImage: Sendable {
    /// The pixels, at the requested size. Unless ``coversAll``, missing pixels are transparent, and an image without
    /// alpha gets an alpha channel.
    public var pixels: PixelBuffer
    /// The amount of the image's data used: of two parts of one image, the better has more. The unit depends on the
    /// format: rows, scans, passes.
    public var detail: Int
    /// Whether something is shown everywhere, if only coarsely, as with progressive and interlaced images.
    public var coversAll: Bool
    /// Whether ``pixels`` have their final quality, as for the first frame of an animation.
    public var isFinal: Bool

    /// Creates a partial image, in a codec's ``ImageCodec/decodePart(_:format:options:beyond:cancellation:)``.
    public init(pixels: PixelBuffer, detail: Int, coversAll: Bool, isFinal: Bool = false) {
        self.pixels = pixels
        self.detail = detail
        self.coversAll = coversAll
        self.isFinal = isFinal
    }
}

extension PartialImage {
    /// The extent to which an image has been decoded.
    package struct Filled {
        package var detail: Int
        package var isFinal: Bool

        package init(detail: Int, isFinal: Bool = false) {
            self.detail = detail
            self.isFinal = isFinal
        }
    }
}

extension ImageInfo {
    /// Works like ``makePixels(_:cancellation:filledBy:)``, for the available part of an image.
    ///
    /// - Parameters:
    ///   - coversAll: whether `fill` covers everything. If not, the result has alpha, and `fill` writes straight alpha.
    ///   - fill: writes all of the memory; returns `nil` if there is nothing to show.
    package func makePart(
        _ options: DecodeOptions, coversAll: Bool, cancellation: CancellationFlag,
        filledBy fill: (Resize.Plan, UnsafeMutableRawBufferPointer) throws(LoadError) -> PartialImage.Filled?
    ) throws(LoadError) -> PartialImage? {
        var info = self
        if !coversAll { info.hasAlpha = true }
        var filled: PartialImage.Filled?
        let pixels = try unsafe info.makePixels(options, cancellation: cancellation) {
            (plan, memory) throws(LoadError) in
            filled = try unsafe fill(plan, memory)
            // The result is discarded, but the conversion of its format reads it.
            if filled == nil { unsafe memory.initializeMemory(as: UInt8.self, repeating: 0) }
        }
        return filled.map {
            PartialImage(pixels: pixels, detail: $0.detail, coversAll: coversAll, isFinal: $0.isFinal)
        }
    }
}

extension LoadError {
    /// Runs a decode step until the bytes end or are damaged.
    ///
    /// - Returns: whether it completed. Throws errors other than ``LoadError/Code/damaged``.
    package static func upToDamage(_ read: () throws(LoadError) -> Void) throws(LoadError) -> Bool {
        do throws(LoadError) {
            try read()
            return true
        } catch {
            guard error.code == .damaged else { throw error }
            return false
        }
    }
}
