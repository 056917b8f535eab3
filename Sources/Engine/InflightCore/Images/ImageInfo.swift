/// What the header of a picture says, without decoding it.
public struct ImageInfo: Sendable, Hashable {
    public enum ColorModel: String, Sendable, Hashable {
        case gray, rgb, indexed, cmyk, ycck
    }

    public var format: ImageFormat
    /// Pixels as they are stored, before orientation.
    public var storedWidth: Int
    public var storedHeight: Int
    public var orientation: ImageOrientation
    /// How many frames there are; 1 for stills. Where not all of the file was looked at, those that begin in the part
    /// that was.
    public var frameCount: Int
    /// Whether more frames may follow in the part of an animation that was not looked at.
    public var mayHaveMoreFrames: Bool
    public var colorModel: ColorModel
    public var bitsPerComponent: Int
    public var hasAlpha: Bool
    /// The name that an embedded colour profile gives itself; `nil` where there is none.
    public var profileName: String?
    /// What the colours are measured by, where a file says so by number in place of a profile (`nclx` of AVIF and HEIC): the
    /// code point of ITU-T H.273 table 2. 1 are sRGB's, 12 Display P3's, which are heeded; `nil` where nothing is said, or a
    /// profile says it.
    public var colorPrimaries: Int?
    /// Stored so that it can be shown coarsely first: progressive JPEG, interlaced PNG and GIF.
    public var isProgressive: Bool

    public init(
        format: ImageFormat, storedWidth: Int, storedHeight: Int, orientation: ImageOrientation = .up,
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

    /// Pixels as they are seen, orientation applied.
    public var width: Int { orientation.swapsAxes ? storedHeight : storedWidth }
    public var height: Int { orientation.swapsAxes ? storedWidth : storedHeight }
}

/// How stored pixels have to be turned to be seen upright: the values of EXIF's tag 0x0112 (CIPA DC-008 section 4.6.4).
public enum ImageOrientation: Int, Sendable, Hashable, CaseIterable {
    case up = 1
    case upMirrored, down, downMirrored, leftMirrored, right, rightMirrored, left

    /// Whether width and height change places.
    public var swapsAxes: Bool { rawValue >= 5 }
}
