import InflightConcurrency
import InflightImages

/// A decode of one image into the output buffer of a resize plan.
// Safe: it writes only to `target`, whose size the resizer checks against the plan.
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

    /// Pulls rows in strips on this thread, so that the library has no reason to start threads.
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

    /// The number of pixels per strip: few enough to check for cancellation often, and enough to make the cost of a
    /// call per strip negligible.
    private static let stripPixels = 1 << 16
}
