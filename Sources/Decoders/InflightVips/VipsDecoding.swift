import InflightConcurrency
import InflightImages

/// A decode of one image into the output buffer of a resize plan.
// Safe: it writes only to `target`, whose size the resizer checks against the plan.
@safe struct VipsDecoding {
    let reader: VipsReader
    let info: ImageInfo
    let plan: Resize.Plan
    let target: UnsafeMutableRawBufferPointer
    let cancellation: CancellationFlag

    init(
        reader: VipsReader, info: ImageInfo, plan: Resize.Plan, target: UnsafeMutableRawBufferPointer,
        cancellation: CancellationFlag
    ) {
        self.reader = reader
        self.info = info
        self.plan = plan
        unsafe self.target = unsafe target
        self.cancellation = cancellation
    }

    /// Pulls rows in strips on this thread, so that the library has no reason to start threads.
    func run() throws(LoadError) {
        let resizer = unsafe PixelRowResizer(
            sourceWidth: reader.width, sourceHeight: reader.height, alpha: info.hasAlpha ? .straight : .opaque,
            plan: plan, target: target)
        try reader.prepare(
            hasAlpha: info.hasAlpha, bitsPerComponent: info.bitsPerComponent, isDisplayP3: info.colorPrimaries == 12)
        let strip = min(reader.height, max(1, Self.stripPixels / reader.width))
        let stride = reader.width * 4
        let memory = try PixelMemory(width: reader.width, height: strip)
        defer { extendLifetime(memory) }
        let rows = unsafe memory.bytes.assumingMemoryBound(to: UInt8.self).baseAddress!
        var y = 0
        while y < reader.height {
            try cancellation.check()
            let count = min(strip, reader.height - y)
            try unsafe reader.readRows(from: y, count: count, into: rows)
            for row in 0..<count { unsafe resizer.push(rows + row * stride) }
            y += count
        }
    }

    /// The number of pixels per strip: few enough to check for cancellation often, and enough to make the cost of a
    /// call per strip negligible.
    private static let stripPixels = 1 << 16
}
