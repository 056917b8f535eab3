import Inflight
import InflightConcurrency
import InflightCore

/// The source of a thumbnail for the report.
enum ThumbnailSubject: Sendable {
    /// Pixels that the run has decoded.
    case pixels(PixelBuffer)
    /// A file that was not decoded, with the number of pixels by its header.
    case file(Bytes, ImageFormat, pixels: Int)
}

/// Makes the thumbnails of a report on the run's own threads, from pixels that the run has decoded, or from a file as
/// received if that is decoded quickly. It never fetches anything.
struct ThumbnailRenderer: Sendable {
    /// The longer side, in pixels; smaller images keep their size.
    static let side = 48
    /// The formats of files that are decoded only for thumbnails: the program's own libraries decode them quickly.
    static let quickFormats: Set<ImageFormat> = [.jpeg, .png, .webp, .gif, .bmp, .ico]
    /// The maximum memory for decoding one of those, in bytes.
    private static let memory = 96 << 20

    let codecs: CodecRegistry
    /// Set when the run ends early. No more thumbnails are made then.
    let cancellation: CancellationFlag

    /// Returns a separate file, written by an encoder of this program alone, or `nil` if the source is damaged or takes
    /// too much memory, or if the run has ended.
    func thumbnail(of subject: ThumbnailSubject) -> [UInt8]? {
        guard !cancellation.isCancelled, let pixels = smallPixels(of: subject),
            let file = try? codecs.encode(pixels, options: encoding)
        else { return nil }
        return file.array
    }

    private func smallPixels(of subject: ThumbnailSubject) -> PixelBuffer? {
        let resize = Resize(width: Self.side, height: Self.side)
        switch subject {
        case .pixels(let pixels):
            return pixels.resized(to: resize.plan(sourceWidth: pixels.width, sourceHeight: pixels.height))
        case .file(let bytes, _, let pixels):
            var options = DecodeOptions(resize: resize)
            options.maximumPixels = pixels
            options.maximumMemory = Self.memory
            return try? codecs.decode(bytes, options: options, cancellation: cancellation).0
        }
    }

    /// The smallest encoding available: WebP has no leading tables, which make up most of a JPEG of this size.
    private var encoding: EncodeOptions {
        let formats = codecs.encodableFormats
        let format = [ImageFormat.webp, .jpeg].first { formats.contains($0) } ?? .png
        return EncodeOptions(format: format, quality: format == .png ? nil : 45)
    }
}
