internal import CInflightCodecs
import InflightConcurrency
import InflightCore

/// The library's incremental decoder on one frame. Confined to one call.
// Safe: the handle lives as long as the object, and the rows are handed out for the length of a call.
@safe final class WebPReader {
    private let handle: OpaquePointer

    private let pixelCount: Int

    /// - Parameters:
    ///   - width: what the frame has to be. One whose own header says something else is damaged, and takes no memory.
    ///   - wantsPlanes: planes can be had of lossy frames, and leave alpha out.
    init(width: Int, height: Int, wantsPlanes: Bool) throws(LoadError) {
        // Sizes that have passed the limits.
        pixelCount = width * height
        guard let handle = unsafe inflight_webp_open(wantsPlanes ? 1 : 0, Int32(width), Int32(height)) else {
            throw PictureError.noMemory
        }
        unsafe self.handle = unsafe handle
    }

    deinit {
        unsafe inflight_webp_close(handle)
    }

    /// Decodes `frame` bit by bit, looks at the flag in between, and calls `take` when more rows may be there.
    func decode(
        _ bytes: Bytes, _ frame: Range<Int>, cancellation: CancellationFlag,
        take: (inflight_webp_rows, _ isDone: Bool) throws(LoadError) -> Void
    ) throws(LoadError) {
        // As many bytes at once as make about a million pixels, if all bytes make as many.
        let step = max(512, frame.count / max(1, pixelCount >> 20))
        try unsafe bytes.withUnsafeBytes { (memory) throws(LoadError) in
            guard let base = unsafe UnsafeRawBufferPointer(rebasing: memory[frame]).baseAddress else {
                throw PictureError.cutShort(.webp)
            }
            var given = 0
            var isDone: Int32 = 0
            while isDone == 0 {
                try cancellation.check()
                guard given < frame.count else { throw PictureError.cutShort(.webp) }
                given = min(frame.count, given + step)
                let status = unsafe inflight_webp_update(
                    handle, base.assumingMemoryBound(to: UInt8.self), given, &isDone)
                switch Int(status) {
                case INFLIGHT_OK: break
                case INFLIGHT_NO_MEMORY: throw PictureError.noMemory
                default: throw PictureError.damaged(.webp, "its data cannot be decoded")
                }
                var rows = unsafe inflight_webp_rows()
                unsafe inflight_webp_get_rows(handle, &rows)
                if unsafe rows.rows > 0 { try unsafe take(rows, isDone != 0) }
            }
        }
    }
}
