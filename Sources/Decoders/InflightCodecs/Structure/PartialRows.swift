import InflightConcurrency
import InflightCore

/// The rows of a picture with alpha, from top to bottom, as far as they come: what is missing is transparent.
// Safe: the row is used for the length of a call, and what is written lies within the resizer's target.
@safe final class PartialRows {
    private let width: Int
    private let height: Int
    private let resizer: ProfiledRowResizer
    private let row: UnsafeMutablePointer<UInt8>
    /// How many rows have come, before ``finish()``.
    private(set) var count = 0

    /// - Parameter transform: what brings the colours of what is pushed to sRGB.
    init(
        width: Int, height: Int, plan: Resize.Plan, target: UnsafeMutableRawBufferPointer, transform: ColorTransform?
    ) {
        self.width = width
        self.height = height
        resizer = unsafe ProfiledRowResizer(
            sourceWidth: width, sourceHeight: height, alpha: .straight, plan: plan, target: target,
            transform: transform)
        unsafe row = .allocate(capacity: width * 4)
    }

    deinit {
        unsafe row.deallocate()
    }

    /// Has `read` write row after row: red, green, blue and alpha.
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

    /// No more rows come.
    func finish() {
        resizer.pushBlankRest()
        resizer.finish()
    }
}
