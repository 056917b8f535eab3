import InflightCore

/// Resizes the planes of a picture, each from its own resolution, and keeps what comes out until all are there.
// Safe: the pointers never leave but for the length of a call, and their sizes follow from the plan.
@safe final class PlaneResizer {
    // Safe: used by the resizer alone.
    @safe private struct Plane {
        let resampler: RowResampler
        /// The finished plane, of samples between the steps.
        let result: UnsafeMutablePointer<Int16>
    }

    private let planes: [Plane]
    private let width: Int

    /// - Parameters:
    ///   - sizes: the size of each plane.
    ///   - pictureWidth: the size of the picture that they make up.
    init(sizes: [(width: Int, height: Int)], pictureWidth: Int, pictureHeight: Int, plan: Resize.Plan) {
        width = plan.width
        var planes: [Plane] = []
        for (index, size) in sizes.enumerated() {
            // Planes of one size share their weights, as those of chroma do.
            let twin = sizes[..<index].firstIndex { $0 == size }
            let resampler =
                twin.map { RowResampler(like: planes[$0].resampler) }
                ?? RowResampler(
                    layout: .plane, sourceWidth: size.width, sourceHeight: size.height, plan: plan,
                    horizontalSiting: Self.siting(of: size.width, in: pictureWidth),
                    verticalSiting: Self.siting(of: size.height, in: pictureHeight))
            unsafe planes.append(
                Plane(resampler: resampler, result: .allocate(capacity: plan.width * plan.height + 16)))
        }
        self.planes = planes
    }

    deinit {
        for plane in planes { unsafe plane.result.deallocate() }
    }

    private static func siting(of count: Int, in pixelCount: Int) -> ResampleAxis.Siting {
        if count == pixelCount { return .direct }
        let ratio = (pixelCount + count - 1) / count
        if ratio > 1, count == (pixelCount + ratio - 1) / ratio {
            return .subsampled(ratio: ratio, pixelCount: pixelCount)
        }
        // Factors such as three to two, which only odd files have.
        return .partial(length: Double(count))
    }

    /// The rows of a plane that are still to be pushed.
    func rowsLeft(_ plane: Int) -> Int { planes[plane].resampler.rowsLeft }

    /// Takes the next rows of a plane, or as many of them as it still lacks.
    func push(_ plane: Int, _ rows: UnsafePointer<UInt8>, stride: Int, count: Int) {
        let plane = planes[plane]
        let result = unsafe plane.result
        for row in 0..<min(count, plane.resampler.rowsLeft) {
            unsafe plane.resampler.push(rows + row * stride) { y, samples in
                unsafe (result + y * width).update(from: samples, count: width)
            }
        }
    }

    /// A finished row of a plane. Sixteen samples may be read behind the last.
    func row(_ plane: Int, _ y: Int) -> UnsafePointer<Int16> {
        unsafe UnsafePointer(planes[plane].result + y * width)
    }
}
