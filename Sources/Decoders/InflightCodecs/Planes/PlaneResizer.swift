import InflightImages

/// Resizes the planes of an image, each from its own resolution, and retains the results until all planes are complete.
// Safe: the pointers are passed on only for the duration of a call, and their sizes follow from the plan.
@safe final class PlaneResizer {
    // Safe: only the resizer uses it.
    @safe private struct Plane {
        let resampler: RowResampler
        /// The resized plane of intermediate samples.
        let result: UnsafeMutablePointer<Int16>
    }

    private let planes: [Plane]

    /// - Parameters:
    ///   - sizes: the size of each plane.
    ///   - pictureWidth: the width of the image that they form.
    ///   - halvesChroma: whether all planes but the first become half as wide and half as high as the plan's result,
    ///     rounded up, with samples in the middle of four pixels.
    init(
        sizes: [(width: Int, height: Int)], pictureWidth: Int, pictureHeight: Int, plan: Resize.Plan,
        halvesChroma: Bool = false
    ) {
        var planes: [Plane] = []
        for (index, size) in sizes.enumerated() {
            // Planes of equal size, such as the chroma planes, share their weights.
            let twin = sizes[..<index].indices.first { sizes[$0] == size && !(halvesChroma && $0 == 0) }
            let resampler =
                twin.map { RowResampler(like: planes[$0].resampler) }
                ?? RowResampler(
                    layout: .plane, sourceWidth: size.width, sourceHeight: size.height, plan: plan,
                    horizontalSiting: Self.siting(of: size.width, in: pictureWidth),
                    verticalSiting: Self.siting(of: size.height, in: pictureHeight),
                    pixelsPerSample: halvesChroma && index > 0 ? 2 : 1)
            let count = resampler.targetWidth * resampler.targetHeight
            unsafe planes.append(Plane(resampler: resampler, result: .allocate(capacity: count + 16)))
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
        // Ratios such as three to two occur only in unusual files.
        return .partial(length: Double(count))
    }

    /// Returns the number of rows of a plane still to be pushed.
    func rowsLeft(_ plane: Int) -> Int { planes[plane].resampler.rowsLeft }

    /// Pushes the next rows of a plane, at most as many as it lacks.
    func push(_ plane: Int, _ rows: UnsafePointer<UInt8>, stride: Int, count: Int) {
        let (resampler, result) = unsafe (planes[plane].resampler, planes[plane].result)
        let width = resampler.targetWidth
        for row in 0..<min(count, resampler.rowsLeft) {
            unsafe resampler.push(rows + row * stride) { y, samples in
                unsafe (result + y * width).update(from: samples, count: width)
            }
        }
    }

    /// Returns the size of a resized plane in samples.
    func size(_ plane: Int) -> (width: Int, height: Int) {
        (planes[plane].resampler.targetWidth, planes[plane].resampler.targetHeight)
    }

    /// Returns a resized row of a plane. Up to sixteen samples beyond the last may be read.
    func row(_ plane: Int, _ y: Int) -> UnsafePointer<Int16> {
        unsafe UnsafePointer(planes[plane].result + y * planes[plane].resampler.targetWidth)
    }
}
