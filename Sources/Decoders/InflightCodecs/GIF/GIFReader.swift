internal import CInflightCodecs
import InflightImages

/// The library's decoder, with its failures as errors. Confined to one call.
// Safe: the handle is valid for the duration of `with`, which is the lifetime of the value.
@safe struct GIFReader {
    private let handle: OpaquePointer
    let frame: inflight_gif_frame
    /// The red, green, blue and alpha of each index.
    let colors: [SIMD4<UInt8>]

    /// Opens a decoder on `bytes` at the first frame, or at the block at `position`, and closes it after `body`.
    static func with(
        _ bytes: Bytes, at position: Int? = nil, _ body: (GIFReader) throws(LoadError) -> Void
    ) throws(LoadError) {
        try unsafe bytes.withUnsafeBytes { (memory) throws(LoadError) in
            guard let base = memory.baseAddress else { throw CodecError.truncated(.gif) }
            let handle = unsafe inflight_gif_open(base.assumingMemoryBound(to: UInt8.self), memory.count)
            guard let handle = unsafe handle else { throw CodecError.damaged(.gif, "malformed header") }
            defer { unsafe inflight_gif_close(handle) }
            if let position { unsafe inflight_gif_seek(handle, position) }
            var frame = inflight_gif_frame()
            try unsafe check(inflight_gif_read_frame(handle, &frame), handle)
            try body(unsafe GIFReader(handle: handle, frame: frame))
        }
    }

    private init(handle: OpaquePointer, frame: inflight_gif_frame) {
        unsafe self.handle = unsafe handle
        self.frame = frame
        var palette = frame.palette
        colors = unsafe withUnsafeBytes(of: &palette) { bytes in
            (0..<256).map { index in
                index == Int(frame.transparent)
                    ? .zero
                    : unsafe SIMD4(bytes[index * 3], bytes[index * 3 + 1], bytes[index * 3 + 2], 255)
            }
        }
    }

    func readRow(_ indices: UnsafeMutablePointer<UInt8>, width: Int) throws(LoadError) {
        try unsafe Self.check(inflight_gif_read_row(handle, indices, Int32(width)), handle)
    }

    private static func check(_ status: Int32, _ handle: OpaquePointer) throws(LoadError) {
        if status == 0 { return }
        throw CodecError.damaged(.gif, unsafe String(cString: inflight_gif_error(handle)))
    }
}
