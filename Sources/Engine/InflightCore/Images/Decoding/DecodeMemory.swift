/// What decodes take in memory, estimated from headers.
///
/// Pictures with more pixels than ``ImageInfo/mostPixels`` are refused whatever they take, so that nothing here overflows.
package enum DecodeMemory {
    /// So much for each pixel of the source, what is held for rows, and four bytes for each pixel of the result.
    ///
    /// - Parameter perPixel: what is held of the whole source; 0 where it is decoded row by row.
    package static func bytes(for info: ImageInfo, _ options: DecodeOptions, perPixel: Int) -> Int {
        let source = pixels(info.storedWidth, info.storedHeight)
        let plan = options.resize?.plan(sourceWidth: info.width, sourceHeight: info.height)
        let result = plan.map { pixels($0.width, $0.height) } ?? source
        // Some two hundred rows of two bytes a sample, at most, are held between the steps of a resize.
        let rows = plan == nil ? 0 : 8 * min(info.storedWidth, ImageInfo.mostPixels) * min(info.storedHeight, 200)
        return source * perPixel + rows + result * 4 + least
    }

    /// Tables and small things.
    private static let least = 64 * 1024

    private static func pixels(_ width: Int, _ height: Int) -> Int {
        let (product, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? ImageInfo.mostPixels : min(max(0, product), ImageInfo.mostPixels)
    }
}
