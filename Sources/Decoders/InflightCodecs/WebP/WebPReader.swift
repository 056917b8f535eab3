internal import CInflightCodecs
import InflightConcurrency
import InflightImages

/// The library's incremental decoder for one frame. Confined to one call.
// Safe: the handle lives as long as the object, and the rows are passed on only for the duration of a call.
@safe final class WebPReader {
    private let handle: OpaquePointer

    private let pixelCount: Int

    /// - Parameters:
    ///   - width: the expected width. A frame whose header differs is damaged, and allocates no memory.
    ///   - wantsPlanes: whether to decode to planes, which only lossy frames have and which omit alpha.
    init(width: Int, height: Int, wantsPlanes: Bool) throws(LoadError) {
        // The sizes have passed the limits.
        pixelCount = width * height
        guard let handle = unsafe inflight_webp_open(wantsPlanes ? 1 : 0, Int32(width), Int32(height)) else {
            throw CodecError.outOfMemory
        }
        unsafe self.handle = unsafe handle
    }

    deinit {
        unsafe inflight_webp_close(handle)
    }

    /// Decodes `frame` in steps, checks the flag between them, and calls `take` when more rows may be available.
    func decode(
        _ bytes: Bytes, _ frame: Range<Int>, cancellation: CancellationFlag,
        take: (inflight_webp_rows, _ isDone: Bool) throws(LoadError) -> Void
    ) throws(LoadError) {
        // The bytes of about a million pixels per step, if they are evenly distributed.
        let step = max(512, frame.count / max(1, pixelCount >> 20))
        try unsafe bytes.withUnsafeBytes { (memory) throws(LoadError) in
            guard let base = unsafe UnsafeRawBufferPointer(rebasing: memory[frame]).baseAddress else {
                throw CodecError.truncated(.webp)
            }
            var given = 0
            var isDone: Int32 = 0
            while isDone == 0 {
                try cancellation.check()
                guard given < frame.count else { throw CodecError.truncated(.webp) }
                given = min(frame.count, given + step)
                let status = unsafe inflight_webp_update(
                    handle, base.assumingMemoryBound(to: UInt8.self), given, &isDone)
                switch Int(status) {
                case INFLIGHT_OK: break
                case INFLIGHT_NO_MEMORY: throw CodecError.outOfMemory
                default: throw CodecError.damaged(.webp, "invalid image data")
                }
                var rows = unsafe inflight_webp_rows()
                unsafe inflight_webp_get_rows(handle, &rows)
                if unsafe rows.rows > 0 { try unsafe take(rows, isDone != 0) }
            }
        }
    }
}
