extension PixelBuffer {
    /// Returns the image scaled and cropped as `plan` specifies, in the same format and in the plan's ``Resize/Light``.
    ///
    /// Straight alpha is premultiplied during the resize, so that colours of transparent pixels do not bleed. Time is
    /// linear in the pixels of source and result. Memory beyond the result's is a few rows. A plan that changes nothing
    /// returns this buffer without copying it.
    ///
    /// - Precondition: the part that the plan keeps lies inside the scaled image.
    public func resized(to plan: Resize.Plan) -> PixelBuffer {
        precondition(plan.cropX >= 0 && plan.cropX + plan.width <= plan.scaledWidth, "the crop is too wide")
        precondition(plan.cropY >= 0 && plan.cropY + plan.height <= plan.scaledHeight, "the crop is too high")
        if plan.width == width, plan.height == height, plan.scaledWidth == width, plan.scaledHeight == height {
            return self
        }
        return unsafe PixelBuffer(width: plan.width, height: plan.height, format: format) { target in
            let resizer = unsafe PixelRowResizer(
                sourceWidth: width, sourceHeight: height, alpha: format.alpha, plan: plan, target: target)
            unsafe withUnsafeBytes { source in
                let first = unsafe source.assumingMemoryBound(to: UInt8.self).baseAddress!
                for y in 0..<height { unsafe resizer.push(first + y * bytesPerRow) }
            }
        }
    }

    /// Returns the image scaled, cropped and padded as `resize` specifies, including content-aware crops.
    package func resized(by resize: Resize) -> PixelBuffer {
        let (plan, finish) = resize.stages(sourceWidth: width, sourceHeight: height)
        return resized(to: plan).finished(finish, of: resize)
    }

    /// Returns the result of `resize` from an image that ``Resize/whole(sourceWidth:sourceHeight:)`` has scaled: crops
    /// or pads it.
    package func finished(by resize: Resize, sourceWidth: Int, sourceHeight: Int) -> PixelBuffer {
        let (plan, finish) = resize.stages(sourceWidth: sourceWidth, sourceHeight: sourceHeight)
        return resized(to: plan).finished(finish, of: resize)
    }

    /// Returns the pixels of a plan after what remains to be done with them.
    func finished(_ finish: Resize.Finish, of resize: Resize) -> PixelBuffer {
        switch finish {
        case .nothing: self
        case .crop(let width, let height): cropped(width: width, height: height, gravity: resize.gravity)
        case .pad(let width, let height): padded(width: width, height: height, color: resize.background)
        }
    }

    /// Returns the image in the middle of a larger one, which is a plain colour. An image with an odd margin is nearer
    /// to the top left.
    ///
    /// - Precondition: the image is not larger than that size.
    func padded(width: Int, height: Int, color: PixelColor) -> PixelBuffer {
        precondition(width >= self.width && height >= self.height, "the image is larger than its padding")
        var format = format
        if format.alpha == .opaque, color.alpha < 255 { format.alpha = .straight }
        let pixel = Self.change(
            from: Format(order: .rgba, alpha: .straight), to: format
        )(SIMD4(color.red, color.green, color.blue, color.alpha))
        let image = format == self.format ? self : withAlpha(format)
        return unsafe PixelBuffer(width: width, height: height, format: format) { memory in
            for offset in stride(from: 0, to: memory.count - 3, by: 4) {
                unsafe memory.storeBytes(of: pixel, toByteOffset: offset, as: SIMD4<UInt8>.self)
            }
            let corner = ((height - image.height) / 2 &* width &+ (width - image.width) / 2) &* 4
            let output = unsafe memory.baseAddress! + corner
            unsafe image.withUnsafeBytes { source in
                for y in 0..<image.height {
                    unsafe (output + y &* width &* 4).copyMemory(
                        from: source.baseAddress! + y &* image.bytesPerRow, byteCount: image.width &* 4)
                }
            }
        }
    }

    /// Returns an opaque image in a format with alpha.
    private func withAlpha(_ format: Format) -> PixelBuffer {
        mapped(to: format) { pixel in
            var pixel = pixel
            pixel[3] = 255
            return pixel
        }
    }

    /// Returns a copy of the part of the image that begins at `x`, `y`. All values are in pixels.
    ///
    /// - Precondition: the part lies inside the image.
    public func cropped(x: Int, y: Int, width: Int, height: Int) -> PixelBuffer {
        precondition(
            x >= 0 && y >= 0 && x + width <= self.width && y + height <= self.height, "the crop is outside the image")
        return resized(
            to: Resize.Plan(
                scaledWidth: self.width, scaledHeight: self.height, cropX: x, cropY: y, width: width, height: height))
    }

    /// Returns a copy of the part of that size, in pixels, at the position of `gravity`.
    ///
    /// - Precondition: the part is not larger than the image.
    public func cropped(width: Int, height: Int, gravity: Resize.Gravity) -> PixelBuffer {
        precondition(width <= self.width && height <= self.height, "the crop is larger than the image")
        if width == self.width, height == self.height { return self }
        let corner =
            gravity == .interest
            ? interestingPart(width: width, height: height)
            : gravity.corner(freeWidth: self.width - width, freeHeight: self.height - height)
        return cropped(x: corner.x, y: corner.y, width: width, height: height)
    }

    /// Returns the origin of the part of that size with the most interest: edges, saturated colours and skin colours.
    ///
    /// In a uniform image it is the middle. It costs about as much as downscaling the image.
    ///
    /// - Parameters:
    ///   - width: the width of the part in pixels.
    ///   - height: the height of the part in pixels.
    /// - Returns: the left and top edge of the part, in pixels.
    /// - Precondition: the part is not larger than the image.
    public func interestingPart(width: Int, height: Int) -> (x: Int, y: Int) {
        precondition(width <= self.width && height <= self.height, "the part is larger than the image")
        let place = SmartCrop(self).place(
            widthShare: Double(width) / Double(self.width), heightShare: Double(height) / Double(self.height))
        return (
            Int((place.x * Double(self.width - width)).rounded()),
            Int((place.y * Double(self.height - height)).rounded())
        )
    }

    /// Returns the image turned upright: pixels stored with `orientation` become pixels as displayed.
    ///
    /// ``ImageInfo/Orientation/up`` returns this buffer without copying it.
    public func oriented(_ orientation: ImageInfo.Orientation) -> PixelBuffer {
        if orientation == .up { return self }
        let target = orientation.swapsAxes ? (width: height, height: width) : (width: width, height: height)
        // The offset of the stored pixel that is displayed at the top left, and the steps to its displayed neighbours.
        let lastX = (width - 1) * 4
        let lastY = (height - 1) * bytesPerRow
        let (start, right, down) =
            switch orientation {
            case .up: (0, 4, bytesPerRow)
            case .upMirrored: (lastX, -4, bytesPerRow)
            case .down: (lastX + lastY, -4, -bytesPerRow)
            case .downMirrored: (lastY, 4, -bytesPerRow)
            case .leftMirrored: (0, bytesPerRow, 4)
            case .right: (lastY, -bytesPerRow, 4)
            case .rightMirrored: (lastX + lastY, -bytesPerRow, -4)
            case .left: (lastX, bytesPerRow, -4)
            }
        return unsafe PixelBuffer(width: target.width, height: target.height, format: format) { memory in
            let output = memory.baseAddress!
            unsafe withUnsafeBytes { source in
                let input = source.baseAddress!
                // Blocks keep both source and target in the CPU cache when the axes are swapped.
                let side = 32
                for blockY in stride(from: 0, to: target.height, by: side) {
                    for blockX in stride(from: 0, to: target.width, by: side) {
                        for y in blockY..<min(blockY + side, target.height) {
                            for x in blockX..<min(blockX + side, target.width) {
                                let offset = start &+ x &* right &+ y &* down
                                unsafe output.storeBytes(
                                    of: input.loadUnaligned(fromByteOffset: offset, as: UInt32.self),
                                    toByteOffset: (y &* target.width &+ x) &* 4, as: UInt32.self)
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the image in another byte order or with another kind of alpha.
    ///
    /// An opaque image stays opaque, whatever alpha is requested. Converting to opaque drops alpha; to composite over a
    /// colour instead, use ``flattened(onto:_:_:)``. Premultiplying loses precision where pixels are transparent. If
    /// nothing changes, returns this buffer without copying it.
    public func converted(to wanted: Format) -> PixelBuffer {
        var wanted = wanted
        if format.alpha == .opaque { wanted.alpha = .opaque }
        if wanted == format { return self }
        let change = Self.change(from: format, to: wanted)
        return mapped(to: wanted) { change($0) }
    }

    /// Returns the pixels in the format that `options` request of a decoded image.
    package func inFormat(of options: DecodeOptions) -> PixelBuffer {
        converted(to: options.pixelFormat(hasAlpha: format.alpha != .opaque))
    }

    /// Converts pixels like ``converted(to:)``, in place, without gaps between the rows.
    package static func convert(_ pixels: UnsafeMutableRawBufferPointer, from format: Format, to wanted: Format) {
        guard format != wanted, let base = pixels.baseAddress else { return }
        let change = change(from: format, to: wanted)
        for offset in stride(from: 0, to: pixels.count - 3, by: 4) {
            let pixel = unsafe base.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt8>.self)
            unsafe base.storeBytes(of: change(pixel), toByteOffset: offset, as: SIMD4<UInt8>.self)
        }
    }

    @inline(__always)
    private static func change(from format: Format, to wanted: Format) -> (SIMD4<UInt8>) -> SIMD4<UInt8> {
        let swaps = wanted.order != format.order
        let (old, new) = (format.alpha, wanted.alpha)
        return { pixel in
            var pixel = pixel
            switch (old, new) {
            case (.straight, .premultiplied): pixel = premultiplied(pixel)
            case (.premultiplied, .straight): pixel = unpremultiplied(pixel)
            case (_, .opaque): pixel[3] = 255
            default: break
            }
            return swaps ? SIMD4(pixel[2], pixel[1], pixel[0], pixel[3]) : pixel
        }
    }

    /// Returns the image composited over a plain sRGB colour, opaque, in the same byte order.
    ///
    /// An opaque image returns this buffer without copying it.
    ///
    /// - Parameters:
    ///   - red: the red component, 0 … 255.
    ///   - green: the green component, 0 … 255.
    ///   - blue: the blue component, 0 … 255.
    public func flattened(onto red: UInt8, _ green: UInt8, _ blue: UInt8) -> PixelBuffer {
        if format.alpha == .opaque { return self }
        let isStraight = format.alpha == .straight
        let wanted = Format(order: format.order, alpha: .opaque)
        let color = format.order == .rgba ? (red, green, blue) : (blue, green, red)
        let ground = PixelPairs(UInt32(color.0) | UInt32(color.1) << 8 | UInt32(color.2) << 16)
        return unsafe PixelBuffer(width: width, height: height, format: wanted) { memory in
            let output = memory.baseAddress!
            unsafe withUnsafeBytes { source in
                let input = source.baseAddress!
                for y in 0..<height {
                    unsafe transformRow(width, input + y &* bytesPerRow, output + y &* width &* 4) {
                        ground.under($0, isStraight: isStraight)
                    }
                }
            }
        }
    }

    @inline(__always)
    private static func premultiplied(_ pixel: SIMD4<UInt8>) -> SIMD4<UInt8> {
        var factor = SIMD4<UInt32>(repeating: UInt32(pixel[3]))
        factor[3] = 255
        let products = SIMD4<UInt32>(truncatingIfNeeded: pixel) &* factor &+ 127
        return SIMD4<UInt8>(truncatingIfNeeded: (products &* 257 &+ 257) &>> 16)
    }

    @inline(__always)
    private static func unpremultiplied(_ pixel: SIMD4<UInt8>) -> SIMD4<UInt8> {
        let alpha = pixel[3]
        if alpha == 255 { return pixel }
        if alpha == 0 { return .zero }
        let colors = SIMD4<Float>(pixel) * (255 / Float(alpha)) + 0.5
        var result = SIMD4<UInt8>(colors.clamped(lowerBound: .zero, upperBound: .init(repeating: 255)))
        result[3] = alpha
        return result
    }

    @inline(__always)
    private func mapped(to wanted: Format, _ change: (SIMD4<UInt8>) -> SIMD4<UInt8>) -> PixelBuffer {
        unsafe PixelBuffer(width: width, height: height, format: wanted) { memory in
            let output = memory.baseAddress!
            unsafe withUnsafeBytes { source in
                let input = source.baseAddress!
                for y in 0..<height {
                    for x in 0..<width {
                        let pixel = unsafe input.loadUnaligned(
                            fromByteOffset: y &* bytesPerRow &+ 4 &* x, as: SIMD4<UInt8>.self)
                        unsafe output.storeBytes(
                            of: change(pixel), toByteOffset: (y &* width &+ x) &* 4, as: SIMD4<UInt8>.self)
                    }
                }
            }
        }
    }
}
