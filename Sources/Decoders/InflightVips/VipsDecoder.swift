internal import CInflightVips
import InflightCodecs
public import InflightConcurrency
public import InflightImages

/// Decodes AVIF, HEIC and SVG with libvips, JPEG XL with libjxl and TIFF with libtiff, and encodes AVIF.
///
/// It is meant for a separate process, `inflight-decoder-vips`: libvips loads a hundred libraries, and some of those
/// that read these formats have a history of faults. Only the loaders for the formats named here can run. The
/// caller selects the loader; it is never detected from the bytes.
///
/// Any thread may decode. Decodes run one at a time, because libvips has one error buffer for all threads. The calling
/// thread pulls the rows, so libvips itself starts no threads; the codecs in libheif start their own.
public struct VipsDecoder: Sendable {
    /// The formats that ``decode(_:format:info:options:cancellation:)`` reads, if the library has all components.
    public static let decodableFormats: Set<ImageFormat> = [.avif, .heic, .jpegXL, .tiff, .svg]
    /// The formats that ``encode(_:options:)`` writes, if the library has all components.
    public static let encodableFormats: Set<ImageFormat> = [.avif]

    /// Creates a decoder. It has no state, so all values are alike. The library starts with the first decode or encode.
    public init() {}

    /// Starts libvips. Call it before anything else here, on any thread; later calls return the first call's result.
    ///
    /// It takes 0.1 to 0.2 s, because it loads libraries and the fonts that documents may rely on: sans-serif, serif
    /// and monospace. Afterwards nothing needs a file, or memory that is both writable and executable. Text in other
    /// fonts, or in scripts that these fonts lack, would need further font files and renders incorrectly without them.
    /// dav1d, libde265 and libaom start threads.
    ///
    /// - Throws: ``LoadError/Code/unsupportedFormat`` if the library cannot start.
    public static func start() throws(LoadError) {
        try started.get()
    }

    private static let started: Result<Void, LoadError> = {
        var message = VipsMessage()
        if unsafe message.withBuffer({ unsafe inflight_vips_start($0) }) == 0 { return .success(()) }
        return .failure(
            LoadError(
                .unsupportedFormat, stage: .decode,
                message: "libvips cannot start: \(message.text). Reinstall libvips 8.14 or later."))
    }()

    /// Decodes the first frame, or the page of a TIFF file that `options` select.
    ///
    /// Starts libvips if necessary, and blocks while another thread decodes.
    ///
    /// - Parameters:
    ///   - bytes: the whole file. A compressed SVG document must have been decompressed.
    ///   - format: one of ``decodableFormats``; it selects the loader.
    ///   - info: that page's header. Before pixels are decoded, the size that the library reports is compared with it,
    ///     and `options` are checked against both.
    ///   - options: the page, the target size, the pixel format and the limits.
    ///   - cancellation: checked between strips of rows. Formats that decode an image as a whole (AVIF, HEIC, JPEG XL)
    ///     are cancelled only before and after that.
    /// - Returns: the pixels at the size that `options` request, in sRGB, with the orientation applied.
    /// - Throws: ``LoadError/Code/damaged``, ``LoadError/Code/unsupportedFormat``, ``LoadError/Code/tooManyPixels``,
    ///   ``LoadError/Code/cancelled``; ``LoadError/Code/invalidRequest`` for a page of a format other than TIFF.
    public func decode(
        _ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        guard options.page == 0 || format == .tiff else { throw CodecError.pagesUnsupported(format) }
        var stored = info
        if format == .jpegXL {
            // libjxl applies the orientation itself.
            stored.storedWidth = info.width
            stored.storedHeight = info.height
            stored.orientation = .up
        }
        return try unsafe stored.makePixels(options, cancellation: cancellation) {
            (plan, target) throws(LoadError) in
            var source = bytes
            var size = (width: stored.storedWidth, height: stored.storedHeight)
            var still: HEIFStill?
            if format == .svg {
                size = try Self.drawnSize(plan, options)
                source = try SVGDrawing.resized(bytes, width: size.width, height: size.height)
            } else if format == .avif || format == .heic {
                let found = try IsolatedFormats.still(bytes, format: format)
                try Self.check(format, size, decoded: (found.crop.width, found.crop.height))
                size = (found.width, found.height)
                source = found.color.file
                still = found
            }
            try VipsReader.with(source, format: format, page: options.page) { (reader) throws(LoadError) in
                try Self.check(format, size, decoded: (reader.width, reader.height))
                try unsafe (still?.alpha?.file ?? Bytes([])).withUnsafeBytes { (alpha) throws(LoadError) in
                    if let still { try unsafe reader.assemble(still, alpha: still.alpha == nil ? nil : alpha) }
                    try unsafe VipsDecoding(
                        reader: reader, info: stored, plan: plan, target: target, cancellation: cancellation
                    ).run()
                }
            }
        }
    }

    private static func check(
        _ format: ImageFormat, _ size: (width: Int, height: Int), decoded: (width: Int, height: Int)
    ) throws(LoadError) {
        guard size != decoded else { return }
        throw CodecError.damaged(
            format,
            "its header declares \(size.width) × \(size.height) pixels, its decoder \(decoded.width) × "
                + "\(decoded.height)")
    }

    /// Checks whether a JPEG XL file is complete and valid, which only its decoder can find out.
    ///
    /// All frames are decoded, and none is retained. For any other format, the call returns at once without a check.
    ///
    /// - Throws: ``LoadError/Code/damaged`` if it is truncated or corrupt.
    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        guard format == .jpegXL else { return }
        var message = VipsMessage()
        let status = unsafe bytes.withUnsafeBytes { memory in
            unsafe message.withBuffer { text in
                unsafe memory.baseAddress.map {
                    unsafe inflight_jxl_check($0.assumingMemoryBound(to: UInt8.self), memory.count, text)
                } ?? 1
            }
        }
        if status != 0 { throw message.error(format) }
    }

    /// Returns the size at which the whole drawing is rendered, of which a crop may be a small part.
    private static func drawnSize(
        _ plan: Resize.Plan, _ options: DecodeOptions
    ) throws(LoadError) -> (width: Int, height: Int) {
        let size = (width: plan.scaledWidth, height: plan.scaledHeight)
        let most = SVGDrawing.maximumPixels
        guard size.width <= most, size.height <= most, size.width * size.height <= options.maximumPixels else {
            throw LoadError(
                .tooManyPixels, stage: .decode,
                message:
                    "The SVG image would be rendered at \(size.width) × \(size.height) pixels; the limit is "
                    + "\(options.maximumPixels) pixels and \(most) pixels per side. Request a smaller size.")
        }
        return size
    }
}
