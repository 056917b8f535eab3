import InflightImages

/// Resizes rows and converts their colours from a profile to sRGB.
///
/// It converts after resizing, when there are fewer pixels, or before it for resizing in linear light, which needs
/// sRGB, and for 16 bits per sample, which the resizer does not take. Confined to one thread at a time.
// Safe: it writes only to `target`, whose size the resizer checks, and to its own row.
@safe final class ProfiledRowResizer {
    private let resizer: PixelRowResizer
    private let transform: ColorTransform?
    private let plan: Resize.Plan
    private let target: UnsafeMutableRawBufferPointer
    /// The row being converted; `nil` if rows are resized unconverted.
    private let row: UnsafeMutableRawBufferPointer?
    private let isDeep: Bool

    /// - Parameters:
    ///   - target: `plan.width` × `plan.height` × 4 bytes, which outlive this object.
    ///   - transform: the transform of the pushed colours to sRGB, of the same depth.
    ///   - isDeep: whether rows have 16 bits per sample. They need a transform.
    init(
        sourceWidth: Int, sourceHeight: Int, alpha: PixelBuffer.Format.Alpha, plan: Resize.Plan,
        target: UnsafeMutableRawBufferPointer, transform: ColorTransform?, isDeep: Bool = false
    ) {
        precondition(!isDeep || transform != nil)
        resizer = unsafe PixelRowResizer(
            sourceWidth: sourceWidth, sourceHeight: sourceHeight, alpha: alpha, plan: plan, target: target)
        self.transform = transform
        self.isDeep = isDeep
        self.plan = plan
        unsafe self.target = unsafe target
        unsafe row =
            transform != nil && (isDeep || resizer.usesLinearLight)
            ? UnsafeMutableRawBufferPointer.allocate(byteCount: sourceWidth * 4, alignment: 16) : nil
    }

    deinit {
        unsafe row?.deallocate()
    }

    /// Pushes the next row, four samples for each pixel of the source's width.
    func push(_ pixels: UnsafePointer<UInt8>) {
        guard let transform, let row = unsafe row else { return unsafe resizer.push(pixels) }
        if isDeep {
            unsafe transform.apply(
                UnsafeRawBufferPointer(start: pixels, count: row.count * 2), into: row, pixelCount: row.count / 4)
        } else {
            unsafe row.copyMemory(from: UnsafeRawBufferPointer(start: pixels, count: row.count))
            unsafe transform.apply(row, pixelCount: row.count / 4)
        }
        unsafe resizer.push(row.assumingMemoryBound(to: UInt8.self).baseAddress!)
    }

    /// The number of rows pushed.
    var pushedRows: Int { resizer.pushedRows }

    /// Pushes transparent rows up to the last one. They have no colour that a profile could change.
    func pushBlankRest() { resizer.pushBlankRest() }

    /// Ends the rows. Call it after the last one.
    func finish() {
        guard unsafe row == nil, let transform else { return }
        unsafe transform.apply(target, pixelCount: plan.width * plan.height)
    }
}
