import Inflight
import InflightConcurrency
import InflightCore

/// What a small picture for the report is made of.
enum ThumbnailSubject: Sendable {
    /// The run has decoded it.
    case pixels(PixelBuffer)
    /// A file that was not decoded, of so many pixels by its header.
    case file(Bytes, ImageFormat, pixels: Int)
}

/// Makes the small pictures of a report, on the run's own threads: of what the run has decoded, or of a file as it came
/// where that is decoded quickly. Nothing is ever fetched for one.
struct ThumbnailMaker: Sendable {
    /// The larger side, in pixels; what is smaller stays as it is.
    static let side = 48
    /// Decoded for their small pictures alone are these: quick to read, and by the program's own libraries.
    static let quickFormats: Set<ImageFormat> = [.jpeg, .png, .webp, .gif, .bmp, .ico]
    /// For them too, what decoding one may take in memory, in bytes.
    private static let memory = 96 << 20

    let codecs: CodecRegistry
    /// Set when the run ends early: then none is made any more.
    let cancellation: CancellationFlag

    /// A file of its own, by an encoder of this program alone; `nil` where the subject turns out to be damaged, to take too
    /// much memory, or where the run has ended.
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

    /// The smallest: WebP has no tables in front, which are most of a JPEG of this size.
    private var encoding: EncodeOptions {
        let formats = codecs.encodableFormats
        let format = [ImageFormat.webp, .jpeg].first { formats.contains($0) } ?? .png
        return EncodeOptions(format: format, quality: format == .png ? nil : 45)
    }
}
