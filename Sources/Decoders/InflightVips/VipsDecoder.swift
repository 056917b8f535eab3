internal import CInflightVips
public import InflightConcurrency
public import InflightCore

/// AVIF, HEIC, TIFF and SVG by libvips, JPEG XL by libjxl, and the writing of AVIF.
///
/// It is for a process of its own, which is what `inflight-decoder` is: libvips loads a hundred libraries, and some of
/// those that read these formats have a history of faults. Of its loaders only those of the formats that are named here
/// can run; which one does, the caller says, and it is never found by looking at the bytes.
///
/// Any number of threads may decode; all but JPEG XL takes turns, because libvips has one text of errors for all threads.
/// Rows are pulled by the thread that asks, so that libvips itself starts none; the codecs in libheif have their own.
public struct VipsDecoder: Sendable {
    /// The formats that ``decode(_:format:info:options:cancellation:)`` reads, where the library has all its parts.
    public static let decodableFormats: Set<ImageFormat> = [.avif, .heic, .jpegXL, .tiff, .svg]
    /// The formats that ``encode(_:options:)`` writes, where the library has all its parts.
    public static let encodableFormats: Set<ImageFormat> = [.avif]

    public init() {}

    /// Starts libvips. To be called before anything else here, on any thread; later calls give the first one's answer. It
    /// takes a tenth of a second or two: it loads libraries, and reads the fonts that documents may count on, sans-serif,
    /// serif and monospace.
    ///
    /// Behind it nothing needs a file, nor memory that is written and executed. Text in other fonts, or in scripts that
    /// these lack, would read their files: without them it is not drawn as it was meant. dav1d, libde265, libaom start
    /// threads.
    ///
    /// - Throws: ``LoadError/Code/unsupportedFormat`` where the library cannot start.
    public static func start() throws(LoadError) {
        try started.get()
    }

    private static let started: Result<Void, LoadError> = {
        var message = VipsMessage()
        if unsafe message.withBuffer({ unsafe inflight_vips_start($0) }) == 0 { return .success(()) }
        return .failure(
            LoadError(
                .unsupportedFormat, stage: .decode,
                message: "libvips does not start: \(message.reason). Install libvips 8.14 or later anew."))
    }()

    /// Decodes the first frame, or the page of a TIFF file that `options` name: orientation applied, colours in sRGB, at the size that `options` want.
    ///
    /// - Parameters:
    ///   - format: one of ``decodableFormats``: the loader that is used.
    ///   - info: what the header said of that page. The library's own word on the size is held against it, and `options` against both,
    ///     before pixels are decoded.
    ///   - cancellation: looked at between strips of rows. What decodes a picture as a whole (AVIF, HEIC, JPEG XL) is
    ///     stopped only before and after that.
    /// - Throws: ``LoadError/Code/damaged``, ``LoadError/Code/unsupportedFormat``, ``LoadError/Code/tooManyPixels`` or
    ///   ``LoadError/Code/cancelled``.
    public func decode(
        _ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        guard options.page == 0 || format == .tiff else { throw PictureError.noPages(format) }
        var stored = info
        if Self.turnsItself(format) {
            // libheif and libjxl give a picture as it is seen.
            stored.storedWidth = info.width
            stored.storedHeight = info.height
            stored.orientation = .up
        }
        return try unsafe stored.makePixels(options, cancellation: cancellation) {
            (plan, target) throws(LoadError) in
            var source = bytes
            var size = (width: stored.storedWidth, height: stored.storedHeight)
            if format == .svg {
                size = try Self.drawnSize(plan, options)
                source = try SVGDrawing.resized(bytes, width: size.width, height: size.height)
            }
            try VipsPicture.with(source, format: format, page: options.page) { (picture) throws(LoadError) in
                guard picture.width == size.width, picture.height == size.height else {
                    throw PictureError.damaged(
                        format,
                        "its header says \(size.width) × \(size.height) pixels, its decoder "
                            + "\(picture.width) × \(picture.height)")
                }
                try unsafe VipsDecoding(
                    picture: picture, info: stored, plan: plan, target: target, cancellation: cancellation
                ).run()
            }
        }
    }

    /// Checks whether a file is whole where that takes its decoder, which it does for JPEG XL alone: all frames are
    /// decoded, and none is kept.
    ///
    /// - Throws: ``LoadError/Code/damaged`` where it is cut short or broken.
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

    /// A drawing is made at the size that is wanted of the whole of it, of which a crop may be a small part.
    private static func drawnSize(
        _ plan: Resize.Plan, _ options: DecodeOptions
    ) throws(LoadError) -> (width: Int, height: Int) {
        let size = (width: plan.scaledWidth, height: plan.scaledHeight)
        let most = SVGDrawing.mostPixels
        guard size.width <= most, size.height <= most, size.width * size.height <= options.maximumPixels else {
            throw LoadError(
                .tooManyPixels, stage: .decode,
                message:
                    "The svg picture would have to be drawn with \(size.width) × \(size.height) pixels, and at most "
                    + "\(options.maximumPixels) pixels are allowed, \(most) a side. Ask for a smaller size.")
        }
        return size
    }

    private static func turnsItself(_ format: ImageFormat) -> Bool {
        [.avif, .heic, .jpegXL].contains(format)
    }
}
