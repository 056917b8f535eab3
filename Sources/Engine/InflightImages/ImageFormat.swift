/// A format of image files. The set is open.
public struct ImageFormat: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// A short name in lower case, such as `jpeg`.
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public var description: String { rawValue }

    public static let jpeg = ImageFormat(rawValue: "jpeg")
    public static let png = ImageFormat(rawValue: "png")
    public static let webp = ImageFormat(rawValue: "webp")
    public static let gif = ImageFormat(rawValue: "gif")
    public static let bmp = ImageFormat(rawValue: "bmp")
    public static let ico = ImageFormat(rawValue: "ico")
    public static let avif = ImageFormat(rawValue: "avif")
    public static let heic = ImageFormat(rawValue: "heic")
    public static let jpegXL = ImageFormat(rawValue: "jxl")
    public static let tiff = ImageFormat(rawValue: "tiff")
    public static let svg = ImageFormat(rawValue: "svg")
    public static let jpeg2000 = ImageFormat(rawValue: "jp2")
    public static let psd = ImageFormat(rawValue: "psd")
    public static let pdf = ImageFormat(rawValue: "pdf")

    /// The usual file name extension, without a dot.
    public var fileExtension: String {
        self == .jpeg ? "jpg" : rawValue
    }

    /// Creates the format for a file name extension without a dot, ignoring case. Returns nil if it is unknown.
    public init?(fileExtension: String) {
        guard let format = Self.byExtension[fileExtension.lowercased()] else { return nil }
        self = format
    }

    private static let byExtension: [String: ImageFormat] = [
        "jpg": .jpeg, "jpeg": .jpeg, "jpe": .jpeg, "jfif": .jpeg, "png": .png, "apng": .png, "webp": .webp, "gif": .gif,
        "bmp": .bmp, "ico": .ico, "avif": .avif, "heic": .heic, "heif": .heic, "jxl": .jpegXL, "tif": .tiff,
        "tiff": .tiff, "svg": .svg, "jp2": .jpeg2000, "psd": .psd, "pdf": .pdf,
    ]

    /// The registered media type.
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
