/// Takes the rows of a picture of four interleaved bytes a pixel, from top to bottom, and fills memory with what a plan
/// makes of them. Where nothing is scaled the rows are copied.
///
/// Confined to one thread at a time.
// Safe: writes only inside `target`, whose size is checked against the plan; reads rows of the size that is asked for.
@safe package final class PixelRowResizer {
    private let alpha: PixelBuffer.Format.Alpha
    private let plan: Resize.Plan
    private let sourceHeight: Int
    private let target: UnsafeMutableRawBufferPointer
    private let resampler: RowResampler?
    private var copiedRow = 0

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
        self.sourceHeight = sourceHeight
        unsafe self.target = unsafe target
        let isScaled = plan.scaledWidth != sourceWidth || plan.scaledHeight != sourceHeight
        resampler =
            isScaled
            ? RowResampler(
                layout: alpha == .straight ? .straightAlpha : .interleaved, sourceWidth: sourceWidth,
                sourceHeight: sourceHeight, plan: plan) : nil
    }

    /// Takes the next row: four bytes for each pixel of the source's width.
    package func push(_ row: UnsafePointer<UInt8>) {
        guard let resampler else {
            defer { copiedRow += 1 }
            let y = copiedRow - plan.cropY
            guard y >= 0, y < plan.height else { return }
            let bytes = unsafe UnsafeRawBufferPointer(start: row + plan.cropX * 4, count: plan.width * 4)
            unsafe UnsafeMutableRawBufferPointer(rebasing: target[(y * plan.width * 4)...]).copyMemory(from: bytes)
            return
        }
        unsafe resampler.push(row) { y, samples in
            let output = unsafe UnsafeMutableRawBufferPointer(rebasing: target[(y * plan.width * 4)...])
                .assumingMemoryBound(to: UInt8.self).baseAddress!
            switch alpha {
            case .opaque: unsafe PixelKernels.narrow(samples, pixelCount: plan.width, into: output)
            case .straight: unsafe PixelKernels.narrowUnpremultiplying(samples, pixelCount: plan.width, into: output)
            case .premultiplied: unsafe PixelKernels.narrowPremultiplied(samples, pixelCount: plan.width, into: output)
            }
        }
    }
}
