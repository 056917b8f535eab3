import InflightConcurrency
import InflightImages

/// A decode of a GIF's first frame into the output buffer of a resize plan.
// Safe: it writes only to `target`, whose size the resizer checks against the plan.
@safe struct GIFDecoding {
    let reader: GIFReader
    let structure: GIFStructure
    let plan: Resize.Plan
    let target: UnsafeMutableRawBufferPointer
    let cancellation: CancellationFlag

    init(
        _ bytes: Bytes, structure: GIFStructure, plan: Resize.Plan, target: UnsafeMutableRawBufferPointer,
        cancellation: CancellationFlag
    ) throws(LoadError) {
        reader = try GIFReader(bytes, structure.first)
        self.structure = structure
        self.plan = plan
        unsafe self.target = unsafe target
        self.cancellation = cancellation
    }

    func run() throws(LoadError) {
        let resizer = resizer(structure.hasAlpha ? .straight : .opaque)
        if reader.isInterlaced {
            _ = try drawPasses(into: resizer) { (read) throws(LoadError) in
                try read()
                return true
            }
        } else {
            try drawRows(into: resizer)
        }
    }

    /// Fills the target with the available rows; returns `nil` if there are none.
    func runPartial() throws(LoadError) -> PartialImage.Filled? {
        let resizer = resizer(.straight)
        if reader.isInterlaced { return try drawPasses(into: resizer, LoadError.upToDamage) }
        let isWhole = try LoadError.upToDamage { () throws(LoadError) in try drawRows(into: resizer) }
        let pushed = resizer.pushedRows
        guard pushed > reader.top else { return nil }
        resizer.pushBlankRest()
        return PartialImage.Filled(detail: pushed, isFinal: isWhole)
    }

    private func resizer(_ alpha: PixelBuffer.Format.Alpha) -> PixelRowResizer {
        unsafe PixelRowResizer(
            sourceWidth: structure.width, sourceHeight: structure.height, alpha: alpha, plan: plan, target: target)
    }

    private func drawRows(into resizer: PixelRowResizer) throws(LoadError) {
        let indices = UnsafeMutablePointer<UInt8>.allocate(capacity: reader.width)
        defer { unsafe indices.deallocate() }
        try unsafe push(into: resizer) { (_) throws(LoadError) in
            try unsafe reader.readRow(indices)
            return unsafe UnsafePointer(indices)
        }
    }

    /// Draws an interlaced frame, all of whose indices are held.
    ///
    /// - Parameter attempt: calls the reading of the rows, and returns whether it completed. Each row then also fills
    ///   those of later passes that are missing.
    private func drawPasses(
        into resizer: PixelRowResizer, _ attempt: (() throws(LoadError) -> Void) throws(LoadError) -> Bool
    ) throws(LoadError) -> PartialImage.Filled? {
        let (width, height) = (reader.width, reader.height)
        let memory = try PixelMemory(width: width, height: height, bytesPerPixel: 1)
        defer { extendLifetime(memory) }
        let indices = unsafe memory.bytes.assumingMemoryBound(to: UInt8.self).baseAddress!
        /// The row that is shown in place of each row.
        var shown = [Int?](repeating: nil, count: height)
        var count = 0
        let isWhole = try attempt { () throws(LoadError) in
            try reader.eachRow(cancellation) { (y) throws(LoadError) in
                try unsafe reader.readRow(indices + y * width)
                let filled = y % 8 == 0 ? 8 : y % 4 == 0 ? 4 : y % 2 == 0 ? 2 : 1
                for row in y..<min(y + filled, height) { shown[row] = y }
                count += 1
            }
        }
        guard count > 0 else { return nil }
        try unsafe push(into: resizer) { (y) throws(LoadError) in
            unsafe shown[y].map { unsafe UnsafePointer(indices + $0 * width) }
        }
        return PartialImage.Filled(detail: count, isFinal: isWhole)
    }

    /// Pushes all rows of the canvas.
    ///
    /// - Parameter row: returns the indices of a row of the frame; nil for a transparent one.
    private func push(
        into resizer: PixelRowResizer, _ row: (Int) throws(LoadError) -> UnsafePointer<UInt8>?
    ) throws(LoadError) {
        let (left, top) = (reader.left, reader.top)
        let band = CancellationFlag.band(width: structure.width)
        let pixels = UnsafeMutablePointer<SIMD4<UInt8>>.allocate(capacity: structure.width)
        defer { unsafe pixels.deallocate() }
        for y in 0..<structure.height {
            if y % band == 0 { try cancellation.check() }
            unsafe pixels.initialize(repeating: .zero, count: structure.width)
            if y >= top, y < top + reader.height, let source = try unsafe row(y - top) {
                for x in 0..<reader.width { unsafe pixels[left + x] = reader.colors[Int(source[x])] }
            }
            unsafe resizer.push(UnsafeRawPointer(pixels).assumingMemoryBound(to: UInt8.self))
        }
    }
}
