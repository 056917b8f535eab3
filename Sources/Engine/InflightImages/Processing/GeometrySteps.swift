import InflightConcurrency

struct ResizeStep: ImageProcessing {
    let resize: Resize

    var identity: String { "resize(\(resize.identity))" }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        if let side = resize.impossibleSide {
            throw ProcessingError.invalid(
                "Invalid resize to a side of \(side) pixels. A side must be 1 to 1000000 pixels.")
        }
        try cancellation.checkProcessing()
        let plan = resize.stages(sourceWidth: pixels.width, sourceHeight: pixels.height).plan
        let result = resize.resultSize(sourceWidth: pixels.width, sourceHeight: pixels.height)
        for (width, height) in [(plan.width, plan.height), result] {
            try ProcessingError.checkSize(width: width, height: height, of: pixels)
        }
        return pixels.resized(by: resize)
    }
}

struct CropStep: ImageProcessing {
    enum Place: Sendable {
        case at(x: Int, y: Int)
        case gravity(Resize.Gravity)
    }

    let place: Place
    let width: Int
    let height: Int

    var identity: String {
        switch place {
        case .at(let x, let y): "crop(x: \(x), y: \(y), width: \(width), height: \(height))"
        case .gravity(let gravity): "crop(width: \(width), height: \(height), gravity: \(gravity.rawValue))"
        }
    }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        guard width > 0, height > 0 else {
            throw ProcessingError.invalid("Invalid processor \(identity). Width and height must be at least 1 pixel.")
        }
        try cancellation.checkProcessing()
        switch place {
        case .at(let x, let y):
            let columns = Self.part(from: x, count: width, of: pixels.width)
            let rows = Self.part(from: y, count: height, of: pixels.height)
            guard !columns.isEmpty, !rows.isEmpty else {
                throw ProcessingError.invalid(
                    "\(identity) is outside the image, which is \(pixels.width) × \(pixels.height) pixels at this step."
                )
            }
            return pixels.cropped(
                x: columns.lowerBound, y: rows.lowerBound, width: columns.count, height: rows.count)
        case .gravity(let gravity):
            return pixels.cropped(
                width: min(width, pixels.width), height: min(height, pixels.height), gravity: gravity)
        }
    }

    /// Returns the part that lies inside the image.
    private static func part(from start: Int, count: Int, of size: Int) -> Range<Int> {
        let (end, overflow) = start.addingReportingOverflow(count)
        return (0..<size).clamped(to: start..<(overflow ? Int.max : end))
    }
}

struct FlipStep: ImageProcessing {
    let axis: ImageProcessor.Axis

    var identity: String { "flip(\(axis.rawValue))" }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        try cancellation.checkProcessing()
        return pixels.oriented(axis == .horizontal ? .upMirrored : .downMirrored)
    }
}

struct CustomStep: ImageProcessing {
    let name: String
    let change: @Sendable (PixelBuffer) throws -> PixelBuffer

    // The prefix separates custom names from built-in identities.
    var identity: String { "custom \(name)" }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        try cancellation.checkProcessing()
        do {
            return try change(pixels)
        } catch {
            if let error = error as? LoadError { throw error }
            throw LoadError(
                .extensionFailed, stage: .process, message: "The processor \"\(name)\" failed: \(error)",
                underlying: error)
        }
    }
}
