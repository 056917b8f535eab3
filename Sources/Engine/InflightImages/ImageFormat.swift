/// A format of image files: an open set, so switch over it with a `default`.
public struct ImageFormat: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// A short name in lower case, such as `jpeg`.
    public let rawValue: String

    /// Creates a format, for example one that a codec of the program decodes.
    ///
    /// - Parameter rawValue: a short name in lower case. ``fileExtension`` and ``mediaType`` derive from it.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public var description: String { rawValue }

    /// JPEG (ITU-T T.81).
    public static let jpeg = ImageFormat(rawValue: "jpeg")
    /// PNG, including animated PNG (W3C PNG specification, third edition).
    public static let png = ImageFormat(rawValue: "png")
    /// WebP (RFC 9649).
    public static let webp = ImageFormat(rawValue: "webp")
    /// GIF, versions 87a and 89a.
    public static let gif = ImageFormat(rawValue: "gif")
    /// Windows and OS/2 bitmaps, with or without a file header.
    public static let bmp = ImageFormat(rawValue: "bmp")
    /// Windows icons and cursors.
    public static let ico = ImageFormat(rawValue: "ico")
    /// AVIF: images coded with AV1 in an ISO base media file.
    public static let avif = ImageFormat(rawValue: "avif")
    /// HEIC: images coded with HEVC in an ISO base media file (ISO/IEC 23008-12).
    public static let heic = ImageFormat(rawValue: "heic")
    /// JPEG XL (ISO/IEC 18181), as a bare codestream or in a container.
    public static let jpegXL = ImageFormat(rawValue: "jxl")
    /// TIFF and BigTIFF.
    public static let tiff = ImageFormat(rawValue: "tiff")
    /// SVG drawings, which are rendered at the requested size.
    public static let svg = ImageFormat(rawValue: "svg")
    /// JPEG 2000 (ISO/IEC 15444). It is detected, but no codec of this package decodes it.
    public static let jpeg2000 = ImageFormat(rawValue: "jp2")
    /// Photoshop documents. They are detected, but no codec of this package decodes them.
    public static let psd = ImageFormat(rawValue: "psd")
    /// PDF. It is detected, but no codec of this package decodes it.
    public static let pdf = ImageFormat(rawValue: "pdf")

    /// The usual file name extension, without a dot: `jpg` for JPEG, otherwise ``rawValue``.
    public var fileExtension: String {
        self == .jpeg ? "jpg" : rawValue
    }

    /// Creates the format for a file name extension without a dot, ignoring case.
    ///
    /// Returns `nil` if the extension is not that of one of the formats declared here.
    public init?(fileExtension: String) {
        guard let format = Self.byExtension[fileExtension.lowercased()] else { return nil }
        self = format
    }

    private static let byExtension: [String: ImageFormat] = [
        "jpg": .jpeg, "jpeg": .jpeg, "jpe": .jpeg, "jfif": .jpeg, "png": .png, "apng": .png, "webp": .webp, "gif": .gif,
        "bmp": .bmp, "ico": .ico, "avif": .avif, "heic": .heic, "heif": .heic, "jxl": .jpegXL, "tif": .tiff,
        "tiff": .tiff, "svg": .svg, "jp2": .jpeg2000, "psd": .psd, "pdf": .pdf,
    ]

    /// The registered media type, such as `image/jpeg`; for a format not declared here, `image/` and ``rawValue``.
    public var mediaType: String {
        switch self {
        case .svg: "image/svg+xml"
        case .ico: "image/vnd.microsoft.icon"
        case .psd: "image/vnd.adobe.photoshop"
        case .pdf: "application/pdf"
        default: "image/\(rawValue)"
        }
    }
}
