internal import CInflightCodecs
import InflightConcurrency
import InflightImages

/// A decode of one WebP image into the output buffer of a resize plan.
// Safe: it writes only to `target`, whose size is checked against the plan.
@safe struct WebPDecoding {
    let bytes: Bytes
    let structure: WebPStructure
    let plan: Resize.Plan
    let target: UnsafeMutableRawBufferPointer
    let transform: ColorTransform?
    let cancellation: CancellationFlag

    init(
        bytes: Bytes, structure: WebPStructure, plan: Resize.Plan, target: UnsafeMutableRawBufferPointer,
        transform: ColorTransform?, cancellation: CancellationFlag
    ) {
        precondition(target.count >= plan.width * plan.height * 4)
        precondition(
            structure.frameX + structure.frameWidth <= structure.width
                && structure.frameY + structure.frameHeight <= structure.height, "the frame is outside the canvas")
        self.bytes = bytes
        self.structure = structure
        self.plan = plan
        unsafe self.target = unsafe target
        self.transform = transform
        self.cancellation = cancellation
    }

    func run() throws(LoadError) {
        let isScaled = plan.scaledWidth != structure.width || plan.scaledHeight != structure.height
        if isScaled, plan.light == .encoded, !structure.isLossless, !structure.hasAlpha {
            try decodePlanes()
        } else {
            try decodePixels()
        }
    }

    private func decodePlanes() throws(LoadError) {
        let size = (width: structure.width, height: structure.height)
        let half = (width: (size.width + 1) / 2, height: (size.height + 1) / 2)
        let resizer = PlaneResizer(
            sizes: [size, half, half], pictureWidth: size.width, pictureHeight: size.height, plan: plan)
        try unsafe decode(wantsPlanes: true) { (rows, isDone) throws(LoadError) in
            guard let luma = unsafe rows.luma, let blue = unsafe rows.blue, let red = unsafe rows.red else {
                throw CodecError.damaged(.webp, "invalid image data")
            }
            let stride = (luma: unsafe Int(rows.luma_stride), chroma: unsafe Int(rows.chroma_stride))
            let done = size.height - resizer.rowsLeft(0)
            unsafe resizer.push(
                0, luma + done * stride.luma, stride: stride.luma, count: Int(rows.rows) - done)
            let halfDone = half.height - resizer.rowsLeft(1)
            let ready = isDone ? half.height : unsafe Int(rows.rows) / 2
            let offset = halfDone * stride.chroma
            unsafe resizer.push(1, blue + offset, stride: stride.chroma, count: ready - halfDone)
            unsafe resizer.push(2, red + offset, stride: stride.chroma, count: ready - halfDone)
        }
        let base = unsafe target.baseAddress!.assumingMemoryBound(to: UInt8.self)
        for y in 0..<plan.height {
            unsafe PlaneColors.limitedRange(
                resizer.row(0, y), resizer.row(1, y), resizer.row(2, y), width: plan.width,
                into: base + y * plan.width * 4)
        }
        if let transform { unsafe transform.apply(target, pixelCount: plan.width * plan.height) }
    }

    private func decodePixels() throws(LoadError) {
        let resizer = unsafe ProfiledRowResizer(
            sourceWidth: structure.width, sourceHeight: structure.height,
            alpha: structure.hasAlpha ? .straight : .opaque, plan: plan, target: target, transform: transform)
        try pushRows(into: resizer)
        resizer.pushBlankRest()
        resizer.finish()
    }

    /// Fills the target with the available rows; returns `nil` if there are none.
    func runPartial() throws(LoadError) -> PartialImage.Filled? {
        let resizer = unsafe ProfiledRowResizer(
            sourceWidth: structure.width, sourceHeight: structure.height, alpha: .straight, plan: plan, target: target,
            transform: transform)
        let isWhole = try LoadError.upToDamage { () throws(LoadError) in try pushRows(into: resizer) }
        let pushed = resizer.pushedRows
        resizer.pushBlankRest()
        resizer.finish()
        return pushed > structure.frameY ? PartialImage.Filled(detail: pushed, isFinal: isWhole) : nil
    }

    /// Pushes the rows of the canvas down to the end of the frame.
    private func pushRows(into resizer: ProfiledRowResizer) throws(LoadError) {
        // The first frame of an animation may be smaller than its canvas. Its rows are then composed here.
        let isWhole = structure.frameWidth == structure.width
        let row = UnsafeMutablePointer<UInt8>.allocate(capacity: structure.width * 4)
        defer { unsafe row.deallocate() }
        unsafe row.initialize(repeating: 0, count: structure.width * 4)
        for _ in 0..<structure.frameY { unsafe resizer.push(row) }
        var done = 0
        try unsafe decode(wantsPlanes: false) { (rows, _) throws(LoadError) in
            guard let pixels = unsafe rows.pixels else {
                throw CodecError.damaged(.webp, "invalid image data")
            }
            while done < min(unsafe Int(rows.rows), structure.frameHeight) {
                let source = unsafe pixels + done * Int(rows.pixel_stride)
                if isWhole {
                    unsafe resizer.push(source)
                } else {
                    unsafe (row + structure.frameX * 4).update(from: source, count: structure.frameWidth * 4)
                    unsafe resizer.push(row)
                }
                done += 1
            }
        }
    }

    private func decode(
        wantsPlanes: Bool, take: (inflight_webp_rows, _ isDone: Bool) throws(LoadError) -> Void
    ) throws(LoadError) {
        let reader = try WebPReader(
            width: structure.frameWidth, height: structure.frameHeight, wantsPlanes: wantsPlanes)
        try unsafe reader.decode(bytes, structure.frame, cancellation: cancellation) {
            (rows, isDone) throws(LoadError) in
            guard unsafe Int(rows.width) == structure.frameWidth, unsafe Int(rows.height) == structure.frameHeight
            else {
                throw CodecError.damaged(.webp, "inconsistent sizes")
            }
            try unsafe take(rows, isDone)
        }
    }
}
