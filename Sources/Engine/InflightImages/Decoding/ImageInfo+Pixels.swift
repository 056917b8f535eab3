package import InflightConcurrency

extension DecodeOptions {
    /// Returns the resize plan for the pixels as stored.
    ///
    /// Throws if enlarging would exceed the limit on pixels.
    package func storedPlan(for info: ImageInfo) throws(LoadError) -> Resize.Plan {
        let whole = Resize.Plan(
            scaledWidth: info.width, scaledHeight: info.height, width: info.width, height: info.height)
        let plan = resize?.plan(sourceWidth: info.width, sourceHeight: info.height) ?? whole
        let size =
            resize?.resultSize(sourceWidth: info.width, sourceHeight: info.height) ?? (
                width: info.width, height: info.height
            )
        let (product, overflow) = size.width.multipliedReportingOverflow(by: size.height)
        let maximum = min(maximumPixels, ImageInfo.maximumPixels)
        guard !overflow, product <= maximum else {
            throw LoadError(
                .tooManyPixels, stage: .decode,
                message: "Upscaled to \(size.width) × \(size.height), the image would exceed the limit of "
                    + "\(maximum) pixels. Request a smaller size, or raise maximumPixels.")
        }
        return plan.stored(for: info.orientation)
    }

    /// Returns options whose result is that of a plan without a crop.
    func following(_ plan: Resize.Plan) -> DecodeOptions {
        var options = self
        options.resize = Resize(width: plan.width, height: plan.height, fit: .exact, light: plan.light)
        return options
    }
}

extension ImageInfo {
    /// Checks the limits of `options` against the header, then calls `fill` to decode the plan's result into memory:
    /// red, green, blue and straight alpha in sRGB, as stored. Then converts it to the requested format, upright.
    package func makePixels(
        _ options: DecodeOptions, cancellation: CancellationFlag,
        filledBy fill: (Resize.Plan, UnsafeMutableRawBufferPointer) throws(LoadError) -> Void
    ) throws(LoadError) -> PixelBuffer {
        try checkPixels(maximum: options.maximumPixels)
        try cancellation.check()
        let plan = try options.storedPlan(for: self)
        let format = options.pixelFormat(hasAlpha: hasAlpha)
        let memory = try PixelMemory(width: plan.width, height: plan.height)
        try unsafe fill(plan, memory.bytes)
        unsafe PixelBuffer.convert(memory.bytes, from: hasAlpha ? .rgba : .rgbx, to: format)
        let pixels = PixelBuffer(
            width: plan.width, height: plan.height, bytesPerRow: plan.width * format.bytesPerPixel, format: format,
            bytes: memory.shared)
        return pixels.oriented(orientation)
    }
}
