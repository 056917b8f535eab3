import InflightConcurrency
import InflightImages

/// Resizes the available rows of an image with alpha, from top to bottom. Missing rows are transparent.
// Safe: the row is used for the duration of a call, and all writes are within the resizer's target.
@safe final class PartialRows {
    private let width: Int
    private let height: Int
    private let resizer: ProfiledRowResizer
    private let row: UnsafeMutablePointer<UInt8>
    /// The number of rows pushed, before ``finish()``.
    private(set) var count = 0

    /// - Parameters:
    ///   - transform: the transform of the pushed colours to sRGB.
    ///   - isDeep: whether rows have 16 bits per sample.
    init(
        width: Int, height: Int, plan: Resize.Plan, target: UnsafeMutableRawBufferPointer, transform: ColorTransform?,
        isDeep: Bool = false
    ) {
        self.width = width
        self.height = height
        resizer = unsafe ProfiledRowResizer(
            sourceWidth: width, sourceHeight: height, alpha: .straight, plan: plan, target: target,
            transform: transform, isDeep: isDeep)
        unsafe row = .allocate(capacity: width * (isDeep ? 8 : 4))
    }

    deinit {
        unsafe row.deallocate()
    }

    /// Calls `read` for each row, which it writes as red, green, blue and alpha.
    func push(
        _ cancellation: CancellationFlag, read: (UnsafeMutablePointer<UInt8>) throws(LoadError) -> Void
    ) throws(LoadError) {
        let band = CancellationFlag.band(width: width)
        while count < height {
            if count % band == 0 { try cancellation.check() }
            try unsafe read(row)
            unsafe resizer.push(row)
            count += 1
        }
    }

    /// Fills the missing rows with transparent pixels, and ends the rows.
    func finish() {
        resizer.pushBlankRest()
        resizer.finish()
    }
}
