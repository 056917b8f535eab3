internal import InflightCore

/// The extensions of the images of a run, without a dot.
package enum ImageExtension: Hashable, Sendable {
    /// All images have this one.
    case fixed(String)
    /// Each image has that of its format, because bodies are stored unchanged.
    case byContent

    /// The extensions that an image may have.
    var candidates: [String] {
        switch self {
        case .fixed(let name): [name]
        case .byContent: Self.formats.map(\.fileExtension)
        }
    }

    /// The formats of bodies that are images.
    private static let formats: [ImageFormat] = [
        .jpeg, .png, .webp, .gif, .avif, .heic, .jpegXL, .tiff, .bmp, .ico, .svg,
    ]
    /// The number of bytes by which every format is recognised, and of those that markup may need.
    private static let (signatureLength, markupLength) = (1024, 256 * 1024)

    /// Returns the extension of an image.
    func of(_ image: FileRange) throws(BatchFailure) -> String {
        guard case .byContent = self else { return candidates[0] }
        for length in [Self.signatureLength, Self.markupLength] {
            let start = try image.file.read(Int(min(image.size, Int64(length))), at: image.offset)
            if let format = ImageFormat.detect(Bytes(start)), Self.formats.contains(format) {
                return format.fileExtension
            }
        }
        throw .output(damaged: image.file.path, "The image at byte \(image.offset) has an unknown format.")
    }
}
