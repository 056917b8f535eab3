internal import CInflightCodecs
import InflightCore

/// Resizes the planes of a JPEG picture, each from its own resolution, as the bands come out of the decoder.
// Safe: the pointers never leave but for the length of a call, and their sizes follow from the layout and the plan.
@safe final class JPEGPlaneResizer {
    // Safe: used by the resizer alone.
    @safe private struct Plane {
        let resampler: RowResampler
        /// One band, as the decoder writes it.
        let band: UnsafeMutablePointer<UInt8>
        let rowsPerBand: Int
        let bytesPerRow: Int
        /// The finished plane, of samples between the steps.
        let result: UnsafeMutablePointer<Int16>
    }

    private let planes: [Plane]
    private let width: Int
    /// Where the decoder is to put the next band of each plane.
    let bands: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>

    init(layout: JPEGReader.Planes, plan: Resize.Plan) {
        width = plan.width
        unsafe bands = .allocate(capacity: 4)
        unsafe bands.initialize(repeating: nil, count: 4)
        var planes: [Plane] = []
        for (index, description) in layout.planes.enumerated() {
            let bandCount = Int(description.rows_per_read) * Int(description.bytes_per_row)
            let resampler = RowResampler(
                layout: .plane, sourceWidth: Int(description.width), sourceHeight: Int(description.height), plan: plan,
                horizontalSiting: Self.siting(of: Int(description.width), in: layout.width),
                verticalSiting: Self.siting(of: Int(description.height), in: layout.height))
            let band = UnsafeMutablePointer<UInt8>.allocate(capacity: bandCount)
            unsafe bands[index] = unsafe band
            unsafe planes.append(
                Plane(
                    resampler: resampler, band: band, rowsPerBand: Int(description.rows_per_read),
                    bytesPerRow: Int(description.bytes_per_row),
                    result: .allocate(capacity: plan.width * plan.height + 16)))
        }
        self.planes = planes
    }

    deinit {
        for plane in planes {
            unsafe plane.band.deallocate()
            unsafe plane.result.deallocate()
        }
        unsafe bands.deallocate()
    }

    private static func siting(of count: Int, in pixelCount: Int) -> ResampleAxis.Siting {
        if count == pixelCount { return .direct }
        if count == (pixelCount + 1) / 2 { return .halved(pixelCount: pixelCount) }
        let ratio = (pixelCount + count - 1) / count
        return .partial(length: Double(pixelCount) / Double(ratio))
    }

    /// Takes what the decoder has put into the bands.
    func takeBand() {
        for plane in planes {
            for row in 0..<min(plane.rowsPerBand, plane.resampler.rowsLeft) {
                unsafe plane.resampler.push(plane.band + row * plane.bytesPerRow) { y, samples in
                    unsafe (plane.result + y * width).update(from: samples, count: width)
                }
            }
        }
    }

    /// A finished row of a plane. Sixteen samples may be read behind the last.
    func row(_ plane: Int, _ y: Int) -> UnsafePointer<Int16> {
        unsafe UnsafePointer(planes[plane].result + y * width)
    }
}
