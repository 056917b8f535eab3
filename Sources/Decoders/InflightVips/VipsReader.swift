internal import CInflightVips
import InflightConcurrency
import InflightImages

/// The library's handle of one image, with its failures as errors. Confined to one call.
// Safe: the handle is valid for the duration of `with`, which is the lifetime of the value.
@safe struct VipsReader {
    private let handle: OpaquePointer
    private let format: ImageFormat
    /// The size that the library reports before any pixel is decoded.
    let width: Int
    let height: Int

    /// A failing call reads libvips's one error buffer, so images are decoded one at a time.
    private static let turn = Lock()

    /// Opens `bytes` with the loader for `format`, without detecting the format. Closes it after `body`; other threads
    /// wait.
    static func with<Result>(
        _ bytes: Bytes, format: ImageFormat, page: Int = 0, _ body: (VipsReader) throws(LoadError) -> Result
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
            return try body(
                unsafe VipsReader(handle: handle, format: format, width: Int(width), height: Int(height)))
        }
    }

    private init(handle: OpaquePointer, format: ImageFormat, width: Int, height: Int) {
        unsafe self.handle = unsafe handle
        self.format = format
        self.width = width
        self.height = height
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
