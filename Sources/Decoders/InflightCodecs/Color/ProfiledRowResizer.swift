import InflightCore

/// Resizes rows whose colours a profile brings to sRGB: behind the resizing, where there are fewer pixels, or in front of it
/// where light is added up, which only the colours of sRGB tell.
///
/// Confined to one thread at a time.
// Safe: writes to `target` alone, whose size the resizer checks, and to a row of its own.
@safe final class ProfiledRowResizer {
    private let resizer: PixelRowResizer
    private let transform: ColorTransform?
    private let plan: Resize.Plan
    private let target: UnsafeMutableRawBufferPointer
    /// A row on its way; `nil` where rows go in as they are.
    private let row: UnsafeMutableRawBufferPointer?

    /// - Parameters:
    ///   - target: `plan.width` × `plan.height` × 4 bytes, which outlive this object.
    init(
        sourceWidth: Int, sourceHeight: Int, alpha: PixelBuffer.Format.Alpha, plan: Resize.Plan,
        target: UnsafeMutableRawBufferPointer, transform: ColorTransform?
    ) {
        resizer = unsafe PixelRowResizer(
            sourceWidth: sourceWidth, sourceHeight: sourceHeight, alpha: alpha, plan: plan, target: target)
        self.transform = transform
        self.plan = plan
        unsafe self.target = unsafe target
        unsafe row =
            transform != nil && resizer.addsLight
            ? UnsafeMutableRawBufferPointer.allocate(byteCount: sourceWidth * 4, alignment: 16) : nil
    }

    deinit {
        unsafe row?.deallocate()
    }

    /// Takes the next row: four bytes for each pixel of the source's width.
    func push(_ pixels: UnsafePointer<UInt8>) {
        guard let transform, let row = unsafe row else { return unsafe resizer.push(pixels) }
        unsafe row.copyMemory(from: UnsafeRawBufferPointer(start: pixels, count: row.count))
        unsafe transform.apply(row, pixelCount: row.count / 4)
        unsafe resizer.push(row.assumingMemoryBound(to: UInt8.self).baseAddress!)
    }

    /// How many rows were pushed.
    var pushedRows: Int { resizer.pushedRows }

    /// Pushes transparent rows down to the picture's last: they have no colour that a profile could change.
    func pushBlankRest() { resizer.pushBlankRest() }

    /// To be called behind the last row.
    func finish() {
        guard unsafe row == nil, let transform else { return }
        unsafe transform.apply(target, pixelCount: plan.width * plan.height)
    }
}
