import InflightCore

/// The way from stored pixels to what the caller asked for, the same for every codec.
enum PixelFinishing {
    /// Allocates the picture that `plan` says (for stored pixels), has `fill` write it as red, green, blue and straight
    /// alpha in sRGB, and brings it into the order, the kind of alpha and the orientation that are wanted.
    static func make(
        plan: Resize.Plan, hasAlpha: Bool, orientation: ImageOrientation, options: DecodeOptions,
        filledBy fill: (UnsafeMutableRawBufferPointer) throws(LoadError) -> Void
    ) throws(LoadError) -> PixelBuffer {
        let alpha: PixelBuffer.Format.Alpha = hasAlpha ? (options.premultiplied ? .premultiplied : .straight) : .opaque
        let format = PixelBuffer.Format(order: options.order, alpha: alpha)
        let memory = try PixelMemory(width: plan.width, height: plan.height)
        try unsafe fill(memory.bytes)
        unsafe PixelBuffer.bring(memory.bytes, from: hasAlpha ? .rgba : .rgbx, to: format)
        let pixels = PixelBuffer(
            width: plan.width, height: plan.height, bytesPerRow: plan.width * format.bytesPerPixel, format: format,
            bytes: memory.shared)
        return pixels.oriented(orientation)
    }
}
