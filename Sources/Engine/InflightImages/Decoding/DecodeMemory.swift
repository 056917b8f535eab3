/// Estimates of the memory that decoding takes, from headers.
///
/// Images with more than ``ImageInfo/maximumPixels`` pixels are always refused, so that no estimate overflows.
package enum DecodeMemory {
    /// Returns an estimate in bytes: `perPixel` per source pixel, the row buffers, and four bytes per result pixel.
    ///
    /// - Parameter perPixel: the bytes retained per pixel of the source; 0 if it is decoded row by row.
    package static func bytes(for info: ImageInfo, _ options: DecodeOptions, perPixel: Int) -> Int {
        let source = pixels(info.storedWidth, info.storedHeight)
        let plan = options.resize?.plan(sourceWidth: info.width, sourceHeight: info.height)
        var result = plan.map { pixels($0.width, $0.height) } ?? source
        // The padded image is a copy.
        if let resize = options.resize, resize.fit == .pad {
            let size = resize.resultSize(sourceWidth: info.width, sourceHeight: info.height)
            result += pixels(size.width, size.height)
        }
        // A resize buffers at most about two hundred rows with two bytes per sample.
        let rows = plan == nil ? 0 : 8 * min(info.storedWidth, ImageInfo.maximumPixels) * min(info.storedHeight, 200)
        return source * perPixel + rows + result * 4 + least
    }

    /// Tables and other small allocations.
    private static let least = 64 * 1024

    private static func pixels(_ width: Int, _ height: Int) -> Int {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? ImageInfo.maximumPixels : min(max(0, product), ImageInfo.maximumPixels)
    }
}
