/// Takes the rows of a picture of four interleaved bytes a pixel, from top to bottom, and fills memory with what a plan
/// makes of them, in the light that the plan names. Where nothing is scaled the rows are copied.
///
/// Confined to one thread at a time.
// Safe: writes only inside `target`, whose size is checked against the plan; reads rows of the size that is asked for.
@safe package final class PixelRowResizer {
    private let alpha: PixelBuffer.Format.Alpha
    private let plan: Resize.Plan
    private let sourceWidth: Int
    private let sourceHeight: Int
    private let target: UnsafeMutableRawBufferPointer
    private let resampler: RowResampler?
    private let linear: LinearRowResizer?
    /// How many rows were pushed.
    package private(set) var pushedRows = 0

    /// - Parameters:
    ///   - alpha: what the fourth byte means, in what is pushed and in what comes out.
    ///   - target: `plan.width` × `plan.height` × 4 bytes, which outlive this object.
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

    /// Whether what is pushed is taken for light, and so has to be sRGB by then.
    package var addsLight: Bool { linear != nil }

    /// Takes the next row: four bytes for each pixel of the source's width.
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

    /// Pushes rows of zeros down to the picture's last.
    package func pushBlankRest() {
        let row = UnsafeMutablePointer<UInt8>.allocate(capacity: sourceWidth * 4)
        defer { unsafe row.deallocate() }
        unsafe row.initialize(repeating: 0, count: sourceWidth * 4)
        while pushedRows < sourceHeight { unsafe push(row) }
    }

    /// Where a row of the target begins.
    private func output(_ y: Int) -> UnsafeMutablePointer<UInt8> {
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[(y * plan.width * 4)...])
            .assumingMemoryBound(to: UInt8.self).baseAddress!
    }
}
