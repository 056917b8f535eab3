/// Resizes an image of four interleaved bytes per pixel, row by row from top to bottom, into memory.
///
/// Applies a plan in the plan's ``Resize/Light``; without scaling, copies the rows. Confined to one thread at a time.
// Safe: writes only inside `target`, whose size is checked against the plan; reads rows of the required size.
@safe package final class PixelRowResizer {
    private let alpha: PixelBuffer.Format.Alpha
    private let plan: Resize.Plan
    private let sourceWidth: Int
    private let sourceHeight: Int
    private let target: UnsafeMutableRawBufferPointer
    private let resampler: RowResampler?
    private let linear: LinearRowResizer?
    /// The number of rows pushed.
    package private(set) var pushedRows = 0

    /// - Parameters:
    ///   - alpha: the meaning of the fourth byte, in the source and in the target.
    ///   - target: `plan.width` × `plan.height` × 4 bytes, which must outlive this object.
    package init(
        sourceWidth: Int, sourceHeight: Int, alpha: PixelBuffer.Format.Alpha, plan: Resize.Plan,
        target: UnsafeMutableRawBufferPointer
    ) {
        precondition(target.count >= plan.width * plan.height * 4, "the target is too small for the plan")
        self.alpha = alpha
        self.plan = plan
        self.sourceWidth = sourceWidth
        self.sourceHeight = sourceHeight
        unsafe self.target = unsafe target
        let isScaled = plan.scaledWidth != sourceWidth || plan.scaledHeight != sourceHeight
        let isLinear = isScaled && plan.light == .linear
        linear =
            isLinear
            ? LinearRowResizer(sourceWidth: sourceWidth, sourceHeight: sourceHeight, alpha: alpha, plan: plan) : nil
        resampler =
            isScaled && !isLinear
            ? RowResampler(
                layout: alpha == .straight ? .straightAlpha : .interleaved, sourceWidth: sourceWidth,
                sourceHeight: sourceHeight, plan: plan) : nil
    }

    /// Whether pushed samples are converted to light, and so must be sRGB by then.
    package var usesLinearLight: Bool { linear != nil }

    /// Processes the next row: four bytes for each pixel of the source's width.
    package func push(_ row: UnsafePointer<UInt8>) {
        defer { pushedRows += 1 }
        if let linear { return unsafe linear.push(row) { unsafe output($0) } }
        guard let resampler else {
            let y = pushedRows - plan.cropY
            guard y >= 0, y < plan.height else { return }
            let bytes = unsafe UnsafeRawBufferPointer(start: row + plan.cropX * 4, count: plan.width * 4)
            unsafe UnsafeMutableRawBufferPointer(rebasing: target[(y * plan.width * 4)...]).copyMemory(from: bytes)
            return
        }
        unsafe resampler.push(row) { y, samples in
            let output = unsafe output(y)
            switch alpha {
            case .opaque: unsafe PixelKernels.narrow(samples, pixelCount: plan.width, into: output)
            case .straight: unsafe PixelKernels.narrowUnpremultiplying(samples, pixelCount: plan.width, into: output)
            case .premultiplied: unsafe PixelKernels.narrowPremultiplied(samples, pixelCount: plan.width, into: output)
            }
        }
    }

    /// Pushes rows of zeros until the image is complete.
    package func pushBlankRest() {
        let row = UnsafeMutablePointer<UInt8>.allocate(capacity: sourceWidth * 4)
        defer { unsafe row.deallocate() }
        unsafe row.initialize(repeating: 0, count: sourceWidth * 4)
        while pushedRows < sourceHeight { unsafe push(row) }
    }

    /// Returns the start of a row of the target.
    private func output(_ y: Int) -> UnsafeMutablePointer<UInt8> {
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[(y * plan.width * 4)...])
            .assumingMemoryBound(to: UInt8.self).baseAddress!
    }
}
