package import InflightConcurrency

/// What can be shown of a picture of which only the first bytes are there, or whose rest is damaged.
public struct PartialPicture: Sendable {
    /// At the size that is wanted. Where the picture is not ``coversAll``, what is missing is transparent, and a picture
    /// without alpha has one.
    public var pixels: PixelBuffer
    /// How much of the picture's data went into it: of two parts of one picture the better one has more. What is counted
    /// is the format's own: rows, scans, passes.
    public var detail: Int
    /// Whether something is shown everywhere, if coarsely: so it is with progressive and interlaced pictures.
    public var coversAll: Bool
    /// Whether all of what ``pixels`` show is there as well as it will ever be, as with the first frame of an animation.
    public var isFinal: Bool

    public init(pixels: PixelBuffer, detail: Int, coversAll: Bool, isFinal: Bool = false) {
        self.pixels = pixels
        self.detail = detail
        self.coversAll = coversAll
        self.isFinal = isFinal
    }
}

extension PartialPicture {
    /// What of a picture has been filled in.
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
    /// As ``makePixels(_:cancellation:filledBy:)``, with what there is of a picture.
    ///
    /// - Parameters:
    ///   - coversAll: whether something will be everywhere. Else there is alpha, and `fill` writes straight alpha.
    ///   - fill: writes all of the memory; `nil`: there is nothing to be shown.
    package func makePart(
        _ options: DecodeOptions, coversAll: Bool, cancellation: CancellationFlag,
        filledBy fill: (Resize.Plan, UnsafeMutableRawBufferPointer) throws(LoadError) -> PartialPicture.Filled?
    ) throws(LoadError) -> PartialPicture? {
        var info = self
        if !coversAll { info.hasAlpha = true }
        var filled: PartialPicture.Filled?
        let pixels = try unsafe info.makePixels(options, cancellation: cancellation) {
            (plan, memory) throws(LoadError) in
            filled = try unsafe fill(plan, memory)
            // What is thrown away is not looked at, but it is brought into its form like all else.
            if filled == nil { unsafe memory.initializeMemory(as: UInt8.self, repeating: 0) }
        }
        return filled.map {
            PartialPicture(pixels: pixels, detail: $0.detail, coversAll: coversAll, isFinal: $0.isFinal)
        }
    }
}

extension LoadError {
    /// Runs what reads on until the bytes end or are damaged.
    ///
    /// - Returns: whether it came to its end. Throws what is not the bytes' fault.
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
