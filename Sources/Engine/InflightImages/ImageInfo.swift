/// The contents of an image's header, read without decoding.
public struct ImageInfo: Sendable, Hashable {
    /// The meaning of a stored pixel's components.
    public enum ColorModel: String, Sendable, Hashable {
        /// Luminance only.
        case gray
        /// Red, green and blue, including luminance and chroma that are converted to them (YCbCr).
        case rgb
        /// The index of a colour in a palette.
        case indexed
        /// Cyan, magenta, yellow and black.
        case cmyk
        /// Luminance and chroma of cyan, magenta and yellow, then black, as Adobe writes JPEG.
        case ycck
    }

    /// The format of the file.
    public var format: ImageFormat
    /// The width in pixels as stored, before ``orientation`` is applied.
    public var storedWidth: Int
    /// The height in pixels as stored, before ``orientation`` is applied.
    public var storedHeight: Int
    /// The transform that displays the stored pixels upright.
    public var orientation: Orientation
    /// The number of frames, or of pages of a TIFF file; 1 for stills.
    ///
    /// If only part of the file was examined, only frames that begin in it count, unless the header declares their
    /// number, as in PNG.
    public var frameCount: Int
    /// Whether there may be more frames or pages than ``frameCount``, in a part of the file that was not examined.
    public var mayHaveMoreFrames: Bool
    /// The colour model of the stored pixels. Decoded pixels are always red, green and blue.
    public var colorModel: ColorModel
    /// The number of bits of each stored component; for PNG and TIFF with a palette, of each index. Decoded pixels
    /// have 8.
    public var bitsPerComponent: Int
    /// Whether pixels may be transparent.
    public var hasAlpha: Bool
    /// The name of the embedded colour profile; `nil` if there is none, or if it has no name.
    public var profileName: String?
    /// The colour primaries, if a file names them by number (`nclx` of AVIF and HEIC, `cICP` of PNG): the code point of
    /// ITU-T H.273 table 2. Decoding honours 1 (sRGB) and 12 (Display P3), and in PNG, where numbers that decoding
    /// ignores are `nil`, all others. `nil` if unspecified, or if a profile takes precedence.
    public var colorPrimaries: Int?
    /// Whether the file stores the image coarsely first: a progressive JPEG, or an interlaced PNG or GIF.
    public var isProgressive: Bool

    /// Creates a header's contents. ``colorPrimaries`` is `nil`.
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

    /// The width in pixels as displayed, with ``orientation`` applied.
    public var width: Int { orientation.swapsAxes ? storedHeight : storedWidth }
    /// The height in pixels as displayed, with ``orientation`` applied.
    public var height: Int { orientation.swapsAxes ? storedWidth : storedHeight }
}

extension ImageInfo {
    /// The transform that displays stored pixels upright: the values of EXIF tag 0x0112 (CIPA DC-008 section 4.6.4).
    public enum Orientation: Int, Sendable, Hashable, CaseIterable {
        /// EXIF 1: displayed as stored.
        case up = 1
        /// EXIF 2: displayed with left and right swapped.
        case upMirrored
        /// EXIF 3: displayed rotated by 180°.
        case down
        /// EXIF 4: displayed with top and bottom swapped.
        case downMirrored
        /// EXIF 5: displayed with rows and columns swapped.
        case leftMirrored
        /// EXIF 6: displayed rotated clockwise by 90°.
        case right
        /// EXIF 7: displayed with rows and columns swapped, then rotated by 180°.
        case rightMirrored
        /// EXIF 8: displayed rotated counterclockwise by 90°.
        case left

        /// Whether the orientation swaps width and height.
        public var swapsAxes: Bool { rawValue >= 5 }
    }
}
