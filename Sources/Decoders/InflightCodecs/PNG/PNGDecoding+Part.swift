import InflightConcurrency
import InflightImages

// Decoding of partial images.

extension PNGDecoding {
    /// Fills the target from the available bytes; returns `nil` if nothing can be shown.
    func runPartial() throws(LoadError) -> PartialImage.Filled? {
        reader.isInterlaced ? try showPasses() : try showRows()
    }

    private func showRows() throws(LoadError) -> PartialImage.Filled? {
        let rows = unsafe PartialRows(
            width: info.storedWidth, height: info.storedHeight, plan: plan, target: target, transform: transform,
            isDeep: reader.isDeep)
        let isWhole = try LoadError.upToDamage { () throws(LoadError) in
            try unsafe rows.push(cancellation) { (row) throws(LoadError) in try unsafe reader.readRow(row) }
        }
        rows.finish()
        return rows.count > 0 ? PartialImage.Filled(detail: rows.count, isFinal: isWhole) : nil
    }

    private func showPasses() throws(LoadError) -> PartialImage.Filled? {
        let stride = info.storedWidth * reader.bytesPerPixel
        let memory = try PixelMemory(
            width: info.storedWidth, height: info.storedHeight, bytesPerPixel: reader.bytesPerPixel)
        defer { extendLifetime(memory) }
        let pixels = unsafe memory.bytes.assumingMemoryBound(to: UInt8.self).baseAddress!
        unsafe pixels.initialize(repeating: 0, count: memory.bytes.count)
        let band = CancellationFlag.band(width: info.storedWidth)
        var passes = 0
        let isWhole = try LoadError.upToDamage { () throws(LoadError) in
            while passes < 7 {
                for y in 0..<info.storedHeight {
                    if y % band == 0 { try cancellation.check() }
                    try unsafe reader.showRow(pixels + y * stride)
                }
                passes += 1
            }
        }
        guard passes > 0 else { return nil }
        let resizer = unsafe ProfiledRowResizer(
            sourceWidth: info.storedWidth, sourceHeight: info.storedHeight,
            alpha: info.hasAlpha ? .straight : .opaque, plan: plan, target: target, transform: transform,
            isDeep: reader.isDeep)
        for y in 0..<info.storedHeight {
            if y % band == 0 { try cancellation.check() }
            unsafe resizer.push(pixels + y * stride)
        }
        resizer.finish()
        return PartialImage.Filled(detail: passes, isFinal: isWhole)
    }
}
