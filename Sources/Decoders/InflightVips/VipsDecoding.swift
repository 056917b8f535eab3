import InflightConcurrency
import InflightCore

/// One decoding of a picture into memory for what a plan keeps of it.
// Safe: writes to `target` alone, whose size is checked against the plan by the resizer.
@safe struct VipsDecoding {
    let picture: VipsPicture
    let info: ImageInfo
    let plan: Resize.Plan
    let target: UnsafeMutableRawBufferPointer
    let cancellation: CancellationFlag

    init(
        picture: VipsPicture, info: ImageInfo, plan: Resize.Plan, target: UnsafeMutableRawBufferPointer,
        cancellation: CancellationFlag
    ) {
        self.picture = picture
        self.info = info
        self.plan = plan
        unsafe self.target = unsafe target
        self.cancellation = cancellation
    }

    /// Rows are pulled in strips by this thread, so that the library has no reason to start others.
    func run() throws(LoadError) {
        let resizer = unsafe PixelRowResizer(
            sourceWidth: picture.width, sourceHeight: picture.height, alpha: info.hasAlpha ? .straight : .opaque,
            plan: plan, target: target)
        try picture.prepare(
            hasAlpha: info.hasAlpha, bitsPerComponent: info.bitsPerComponent, isDisplayP3: info.colorPrimaries == 12)
        let strip = min(picture.height, max(1, Self.stripPixels / picture.width))
        let stride = picture.width * 4
        let memory = try PixelMemory(width: picture.width, height: strip)
        defer { extendLifetime(memory) }
        let rows = unsafe memory.bytes.assumingMemoryBound(to: UInt8.self).baseAddress!
        var y = 0
        while y < picture.height {
            try cancellation.check()
            let count = min(strip, picture.height - y)
            try unsafe picture.readRows(from: y, count: count, into: rows)
            for row in 0..<count { unsafe resizer.push(rows + row * stride) }
            y += count
        }
    }

    /// Few enough to look at the flag often, and enough for a call for each strip not to count.
    private static let stripPixels = 1 << 16
}
