/// The contents of an image's header, read without decoding.
public struct ImageInfo: Sendable, Hashable {
    public enum ColorModel: String, Sendable, Hashable {
        case gray, rgb, indexed, cmyk, ycck
    }

    public var format: ImageFormat
    /// The size in pixels as stored, before orientation.
    public var storedWidth: Int
    public var storedHeight: Int
    public var orientation: Orientation
    /// The number of frames; 1 for stills. If only part of the file was examined, only frames that begin in it count.
    public var frameCount: Int
    /// Whether more frames may follow in the part of an animation that was not examined.
    public var mayHaveMoreFrames: Bool
    public var colorModel: ColorModel
    public var bitsPerComponent: Int
    public var hasAlpha: Bool
    /// The name in the embedded colour profile; `nil` if there is none.
    public var profileName: String?
    /// The colour primaries, if a file names them by number instead of a profile (`nclx` of AVIF and HEIC): the code
    /// point of ITU-T H.273 table 2. Decoding honours 1 (sRGB) and 12 (Display P3). `nil` if unspecified, or if a
    /// profile specifies them.
    public var colorPrimaries: Int?
    /// Whether the image can be shown coarsely first: progressive JPEG, interlaced PNG and GIF.
    public var isProgressive: Bool

    public init(
        format: ImageFormat, storedWidth: Int, storedHeight: Int, orientation: Orientation = .up,
        frameCount: Int = 1, colorModel: ColorModel = .rgb, bitsPerComponent: Int = 8, hasAlpha: Bool = false,
        profileName: String? = nil, isProgressive: Bool = false, mayHaveMoreFrames: Bool = false
    ) {
        self.format = format
        self.storedWidth = storedWidth
        self.storedHeight = storedHeight
        self.orientation = orientation
        self.frameCount = frameCount
        self.mayHaveMoreFrames = mayHaveMoreFrames
        self.colorModel = colorModel
        self.bitsPerComponent = bitsPerComponent
        self.hasAlpha = hasAlpha
        self.profileName = profileName
        self.isProgressive = isProgressive
    }

    /// The size in pixels as displayed, with the orientation applied.
    public var width: Int { orientation.swapsAxes ? storedHeight : storedWidth }
    public var height: Int { orientation.swapsAxes ? storedWidth : storedHeight }
}

extension ImageInfo {
    /// The transform that displays stored pixels upright: the values of EXIF tag 0x0112 (CIPA DC-008 section 4.6.4).
    public enum Orientation: Int, Sendable, Hashable, CaseIterable {
        case up = 1
        case upMirrored, down, downMirrored, leftMirrored, right, rightMirrored, left

        /// Whether the orientation swaps width and height.
        public var swapsAxes: Bool { rawValue >= 5 }
    }
}
