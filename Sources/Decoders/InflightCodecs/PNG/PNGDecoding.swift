import InflightConcurrency
import InflightImages

/// A decode of one PNG image into the output buffer of a resize plan.
// Safe: it writes only to `target`, whose size the resizer checks against the plan.
@safe struct PNGDecoding {
    let reader: PNGReader
    let info: ImageInfo
    /// The transform of the rows' colours to sRGB, which rows of 16 bits need.
    let transform: ColorTransform?
    let plan: Resize.Plan
    let target: UnsafeMutableRawBufferPointer
    let cancellation: CancellationFlag

    init(
        reader: PNGReader, info: ImageInfo, transform: ColorTransform?, plan: Resize.Plan,
        target: UnsafeMutableRawBufferPointer, cancellation: CancellationFlag
    ) {
        self.reader = reader
        self.info = info
        self.transform = transform
        self.plan = plan
        unsafe self.target = unsafe target
        self.cancellation = cancellation
    }

    func run() throws(LoadError) {
        let resizer = unsafe ProfiledRowResizer(
            sourceWidth: info.storedWidth, sourceHeight: info.storedHeight,
            alpha: info.hasAlpha ? .straight : .opaque, plan: plan, target: target, transform: transform,
            isDeep: reader.isDeep)
        if reader.isInterlaced {
            try readPasses(resizer)
        } else {
            try readRows(resizer)
        }
        try reader.finish()
        resizer.finish()
    }

    private func readRows(_ resizer: ProfiledRowResizer) throws(LoadError) {
        let row = UnsafeMutablePointer<UInt8>.allocate(capacity: info.storedWidth * reader.bytesPerPixel)
        defer { unsafe row.deallocate() }
        let band = CancellationFlag.band(width: info.storedWidth)
        for y in 0..<info.storedHeight {
            if y % band == 0 { try cancellation.check() }
            try unsafe reader.readRow(row)
            unsafe resizer.push(row)
        }
    }

    private func readPasses(_ resizer: ProfiledRowResizer) throws(LoadError) {
        let stride = info.storedWidth * reader.bytesPerPixel
        let memory = try PixelMemory(
            width: info.storedWidth, height: info.storedHeight, bytesPerPixel: reader.bytesPerPixel)
        defer { extendLifetime(memory) }
        let pixels = unsafe memory.bytes.assumingMemoryBound(to: UInt8.self).baseAddress!
        unsafe pixels.initialize(repeating: 0, count: memory.bytes.count)
        let band = CancellationFlag.band(width: info.storedWidth)
        for _ in 0..<7 {
            for y in 0..<info.storedHeight {
                if y % band == 0 { try cancellation.check() }
                try unsafe reader.readRow(pixels + y * stride)
            }
        }
        for y in 0..<info.storedHeight {
            if y % band == 0 { try cancellation.check() }
            unsafe resizer.push(pixels + y * stride)
        }
    }
}
