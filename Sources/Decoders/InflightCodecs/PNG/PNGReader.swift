internal import CInflightCodecs
import InflightImages

/// The library's decoder, with its failures as errors. Confined to one call.
// Safe: the handle is valid for the duration of `with`, which is the lifetime of the value.
@safe struct PNGReader {
    private let handle: OpaquePointer
    let isInterlaced: Bool
    /// Whether rows have 16 bits per sample instead of 8.
    let isDeep: Bool

    var bytesPerPixel: Int { isDeep ? 8 : 4 }

    /// Returns an upper bound of the bytes that a reader holds at once, beside a few rows.
    static func heldBytes(of bytes: Bytes) -> Int {
        unsafe bytes.withUnsafeBytes { memory in
            guard let base = memory.baseAddress else { return 0 }
            return unsafe inflight_png_held(base.assumingMemoryBound(to: UInt8.self), memory.count)
        }
    }

    /// - Parameter keepsDepth: whether samples of 16 bits keep all of them.
    static func with(
        _ bytes: Bytes, keepsDepth: Bool = false, _ body: (PNGReader) throws(LoadError) -> Void
    ) throws(LoadError) {
        try unsafe bytes.withUnsafeBytes { (memory) throws(LoadError) in
            guard let base = memory.baseAddress else { throw CodecError.truncated(.png) }
            let handle = unsafe inflight_png_open(base.assumingMemoryBound(to: UInt8.self), memory.count)
            guard let handle = unsafe handle else { throw CodecError.outOfMemory }
            defer { unsafe inflight_png_close(handle) }
            var header = inflight_png_header()
            try unsafe check(inflight_png_read_header(handle, keepsDepth ? 1 : 0, &header), handle)
            try body(unsafe PNGReader(handle: handle, header: header))
        }
    }

    private init(handle: OpaquePointer, header: inflight_png_header) {
        unsafe self.handle = unsafe handle
        isInterlaced = header.is_interlaced != 0
        isDeep = header.is_deep != 0
    }

    func readRow(_ row: UnsafeMutablePointer<UInt8>) throws(LoadError) {
        try unsafe Self.check(inflight_png_read_row(handle, row), handle)
    }

    /// Reads a row for display before all passes are read.
    func showRow(_ row: UnsafeMutablePointer<UInt8>) throws(LoadError) {
        try unsafe Self.check(inflight_png_show_row(handle, row), handle)
    }

    func finish() throws(LoadError) {
        try unsafe Self.check(inflight_png_finish(handle), handle)
    }

    private static func check(_ status: Int32, _ handle: OpaquePointer) throws(LoadError) {
        if status == 0 { return }
        if unsafe inflight_png_lacks_data(handle) != 0 { throw CodecError.truncated(.png) }
        throw CodecError.damaged(
            .png, "invalid chunk or compressed data", libraryText: unsafe String(cString: inflight_png_error(handle)))
    }
}
