internal import CInflightVips
import InflightCodecs
import InflightConcurrency
import InflightImages

/// The library's handle of one image, with its failures as errors. Confined to one call.
// Safe: the handle is valid for the duration of `with`, which is the lifetime of the value.
@safe struct VipsReader {
    private let handle: OpaquePointer
    private let format: ImageFormat
    /// The size that the library reports before any pixel is decoded, or that of the crop after ``assemble(_:alpha:)``.
    private(set) var width: Int
    private(set) var height: Int

    /// A failing call reads libvips's one error buffer, so images are decoded one at a time.
    private static let turn = Lock()

    /// Opens `bytes` with the loader for `format`, without detecting the format. Closes it after `body`; other threads
    /// wait.
    static func with<Result>(
        _ bytes: Bytes, format: ImageFormat, page: Int = 0, _ body: (inout VipsReader) throws(LoadError) -> Result
    ) throws(LoadError) -> Result {
        try VipsDecoder.start()
        guard let loader = loader(of: format) else {
            throw CodecError.unsupported(format, "libvips is not used for this format")
        }
        turn.lock()
        defer { turn.unlock() }
        return try unsafe bytes.withUnsafeBytes { (memory) throws(LoadError) in
            guard let base = memory.baseAddress else { throw CodecError.truncated(format) }
            var width: Int32 = 0
            var height: Int32 = 0
            var message = VipsMessage()
            let handle = unsafe message.withBuffer {
                unsafe inflight_vips_open(
                    base.assumingMemoryBound(to: UInt8.self), memory.count, loader, Int32(clamping: page), &width,
                    &height, $0)
            }
            guard let handle = unsafe handle else { throw message.error(format) }
            defer { unsafe inflight_vips_close(handle) }
            var reader = unsafe VipsReader(handle: handle, format: format, width: Int(width), height: Int(height))
            return try body(&reader)
        }
    }

    private init(handle: OpaquePointer, format: ImageFormat, width: Int, height: Int) {
        unsafe self.handle = unsafe handle
        self.format = format
        self.width = width
        self.height = height
    }

    /// Adds alpha and crops the image of a HEIF file, whose colours this reader has.
    ///
    /// - Parameter alpha: the bytes of the still's alpha, which must outlive the reader.
    mutating func assemble(_ still: HEIFStill, alpha: UnsafeRawBufferPointer?) throws(LoadError) {
        let crop = still.crop
        var heif = unsafe inflight_heif(
            colour: Self.layer(still.color), alpha_bytes: alpha?.assumingMemoryBound(to: UInt8.self).baseAddress,
            alpha_count: alpha?.count ?? 0, alpha: Self.layer(still.alpha ?? still.color),
            is_premultiplied: still.isPremultiplied ? 1 : 0, left: Int32(clamping: crop.left),
            top: Int32(clamping: crop.top), width: Int32(clamping: crop.width), height: Int32(clamping: crop.height))
        try unsafe check { unsafe inflight_vips_assemble(handle, &heif, $0) }
        (width, height) = (crop.width, crop.height)
    }

    private static func layer(_ layer: HEIFStill.Layer) -> inflight_heif_layer {
        inflight_heif_layer(bits: Int32(clamping: layer.bits), needs_range: layer.needsRange ? 1 : 0)
    }

    /// - Parameters:
    ///   - bitsPerComponent: determines the maximum sample value in 16 bits for images of between 8 and 16 bits.
    ///   - isDisplayP3: whether the colours are those of Display P3 if there is no profile.
    func prepare(hasAlpha: Bool, bitsPerComponent: Int, isDisplayP3: Bool) throws(LoadError) {
        try unsafe check {
            unsafe inflight_vips_prepare(
                handle, hasAlpha ? 1 : 0, Int32(clamping: bitsPerComponent), isDisplayP3 ? 1 : 0, $0)
        }
    }

    /// - Parameter rows: the memory for `count` × `width` × 4 bytes.
    func readRows(from first: Int, count: Int, into rows: UnsafeMutablePointer<UInt8>) throws(LoadError) {
        try unsafe check { unsafe inflight_vips_read_rows(handle, Int32(first), Int32(count), rows, $0) }
    }

    private func check(_ body: (UnsafeMutablePointer<CChar>) -> Int32) throws(LoadError) {
        var message = VipsMessage()
        if unsafe message.withBuffer(body) != 0 { throw message.error(format) }
    }

    private static func loader(of format: ImageFormat) -> Int32? {
        switch format {
        case .avif, .heic: Int32(INFLIGHT_VIPS_HEIF)
        case .jpegXL: Int32(INFLIGHT_VIPS_JXL)
        case .tiff: Int32(INFLIGHT_VIPS_TIFF)
        case .svg: Int32(INFLIGHT_VIPS_SVG)
        default: nil
        }
    }
}
