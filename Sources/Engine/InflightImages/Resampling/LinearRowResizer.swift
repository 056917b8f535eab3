/// Resizes an image of four interleaved bytes per pixel in linear light.
///
/// Converts sRGB samples to light, multiplies them by alpha, applies the same filter as ``RowResampler``, and converts
/// back. Computes in 32-bit floating point; weights have 14 fractional bits, as everywhere. Buffers as many rows of the
/// target's width as the filter reaches, at most about a hundred, because large reductions first average blocks.
///
/// Confined to one thread at a time.
// Safe: the pointers never escape, each has the size that the axes require, and all live as long as the object.
@safe final class LinearRowResizer {
    private typealias Light = SIMD4<Float>

    private let alpha: PixelBuffer.Format.Alpha
    private let sourceWidth: Int
    private let horizontal: ResampleAxis
    private let vertical: ResampleAxis
    /// The size of the blocks of pixels that are averaged first.
    private let block: (x: Int, y: Int)
    /// The columns and rows (of blocks) that the target needs.
    private let columns: Range<Int>
    private let rows: Range<Int>

    /// The current source row, from the first needed column on.
    private let line: UnsafeMutablePointer<Light>
    private let blockSums: UnsafeMutablePointer<Light>
    /// Source rows at the target's width, each in the slot of its number.
    private let ring: UnsafeMutablePointer<Light>
    private let result: UnsafeMutablePointer<Light>
    private let curve = TransferFunction.sRGB

    private var rowsLeft: Int
    private var rowsInBlock = 0
    private var blockRow = 0
    private var nextTarget = 0

    init(sourceWidth: Int, sourceHeight: Int, alpha: PixelBuffer.Format.Alpha, plan: Resize.Plan) {
        let axes = ResampleAxes(
            sourceWidth: sourceWidth, sourceHeight: sourceHeight, plan: plan, horizontalMultiple: 2)
        self.alpha = alpha
        self.sourceWidth = sourceWidth
        horizontal = axes.horizontal
        vertical = axes.vertical
        block = axes.block
        columns = horizontal.neededRange
        rows = vertical.neededRange
        rowsLeft = sourceHeight
        unsafe line = Self.zeroed(columns.count)
        unsafe blockSums = Self.zeroed(block.y > 1 ? columns.count : 1)
        unsafe ring = Self.zeroed(vertical.taps * horizontal.targetCount)
        unsafe result = Self.zeroed(horizontal.targetCount)
    }

    deinit {
        unsafe line.deallocate()
        unsafe blockSums.deallocate()
        unsafe ring.deallocate()
        unsafe result.deallocate()
    }

    private static func zeroed(_ count: Int) -> UnsafeMutablePointer<Light> {
        let memory = UnsafeMutablePointer<Light>.allocate(capacity: count)
        unsafe memory.initialize(repeating: .zero, count: count)
        return unsafe memory
    }

    /// Processes the next source row, and writes each target row that it completes to the memory that `output` returns.
    ///
    /// - Precondition: `row` has four bytes for each pixel of the source's width, and there are rows left.
    func push(_ row: UnsafePointer<UInt8>, output: (Int) -> UnsafeMutablePointer<UInt8>) {
        precondition(rowsLeft > 0, "more rows were pushed than the source has")
        rowsLeft -= 1
        guard nextTarget < vertical.targetCount else { return }
        let isInside = rows.contains(blockRow)
        if isInside { unsafe load(row) }
        if block.y > 1 {
            if isInside { for index in 0..<columns.count { unsafe blockSums[index] += line[index] } }
            rowsInBlock += 1
            guard rowsInBlock == block.y || rowsLeft == 0 else { return }
            let share = 1 / Float(rowsInBlock)
            for index in 0..<columns.count {
                unsafe line[index] = unsafe blockSums[index] * share
                unsafe blockSums[index] = .zero
            }
            rowsInBlock = 0
        }
        if isInside { unsafe weighColumns(into: ring + slot(blockRow)) }
        blockRow += 1
        while nextTarget < vertical.targetCount,
            unsafe min(vertical.starts[nextTarget] + vertical.taps, vertical.sourceCount) <= blockRow
        {
            weighRows(nextTarget)
            unsafe store(output(nextTarget))
            nextTarget += 1
        }
    }

    private func slot(_ row: Int) -> Int { row % vertical.taps * horizontal.targetCount }

    // MARK: Weighing

    private static let one = Float(1 << ResampleAxis.weightBits)

    private func weighColumns(into target: UnsafeMutablePointer<Light>) {
        let taps = horizontal.taps
        let base = columns.lowerBound
        for index in 0..<horizontal.targetCount {
            let start = unsafe horizontal.starts[index]
            let first = unsafe line + (start &- base)
            let weight = unsafe horizontal.weights.baseAddress! + index &* taps
            var sum = Light.zero
            // Skip the weights past the source's end: they are zero, and have no samples.
            for tap in 0..<min(taps, horizontal.sourceCount &- start) {
                unsafe sum += first[tap] * Float(weight[tap])
            }
            unsafe target[index] = sum / Self.one
        }
    }

    private func weighRows(_ target: Int) {
        let width = horizontal.targetCount
        for x in 0..<width { unsafe result[x] = .zero }
        let start = unsafe vertical.starts[target]
        for tap in 0..<min(vertical.taps, vertical.sourceCount - start) {
            let weight = unsafe Float(vertical.weights[target * vertical.taps + tap]) / Self.one
            if weight == 0 { continue }
            let row = unsafe ring + slot(start + tap)
            for x in 0..<width { unsafe result[x] += row[x] * weight }
        }
    }

    // MARK: Light

    /// Converts the needed columns to light, and averages blocks.
    private func load(_ row: UnsafePointer<UInt8>) {
        unsafe curve.light.withUnsafeBufferPointer { curve in
            for column in columns {
                let lower = column &* block.x
                let upper = min(sourceWidth, lower &+ block.x)
                var sum = Light.zero
                for x in lower..<upper {
                    unsafe sum += light(UnsafeRawPointer(row + 4 &* x).loadUnaligned(as: SIMD4<UInt8>.self), curve)
                }
                unsafe line[column &- columns.lowerBound] = block.x == 1 ? sum : sum / Float(upper &- lower)
            }
        }
    }

    /// Returns a pixel's colours as light, multiplied by alpha, and its alpha, 0 … 1.
    @inline(__always)
    private func light(_ pixel: SIMD4<UInt8>, _ curve: UnsafeBufferPointer<Float>) -> Light {
        @inline(__always)
        func light(_ channel: Int) -> Float { unsafe curve[Int(pixel[channel])] }
        switch alpha {
        case .opaque: return Light(light(0), light(1), light(2), 1)
        case .straight:
            let alpha = Float(pixel[3]) / 255
            return Light(light(0) * alpha, light(1) * alpha, light(2) * alpha, alpha)
        case .premultiplied:
            guard pixel[3] != 255 else { return Light(light(0), light(1), light(2), 1) }
            guard pixel[3] != 0 else { return .zero }
            let alpha = Float(pixel[3]) / 255
            var result = Light(repeating: alpha)
            for channel in 0..<3 {
                // Dividing a colour by its alpha yields a value between two entries of the table.
                let place = min(Float(pixel[channel]) / alpha, 254.99)
                let index = Int(place)
                let low = unsafe curve[index]
                result[channel] = unsafe (low + (curve[index + 1] - low) * (place - Float(index))) * alpha
            }
            return result
        }
    }

    private func store(_ row: UnsafeMutablePointer<UInt8>) {
        unsafe curve.bytes.withUnsafeBufferPointer { bytes in
            for x in 0..<horizontal.targetCount {
                unsafe UnsafeMutableRawPointer(row + 4 &* x).storeBytes(
                    of: pixel(result[x], bytes), as: SIMD4<UInt8>.self)
            }
        }
    }

    @inline(__always)
    private func pixel(_ sum: Light, _ bytes: UnsafeBufferPointer<UInt8>) -> SIMD4<UInt8> {
        let alpha = self.alpha == .opaque ? 1 : min(sum[3], 1)
        // If a pixel's alpha rounds to zero, its colours become zero too.
        guard alpha >= 0.5 / 255 else { return .zero }
        let colors = (sum / alpha).clamped(lowerBound: .zero, upperBound: Light(repeating: 1))
        let places = SIMD4<Int32>(colors * TransferFunction.steps + 0.5)
        var pixel = unsafe SIMD4(
            bytes[Int(places[0])], bytes[Int(places[1])], bytes[Int(places[2])], UInt8(alpha * 255 + 0.5))
        if self.alpha == .premultiplied {
            for channel in 0..<3 {
                pixel[channel] = min(UInt8(Float(pixel[channel]) * alpha + 0.5), pixel[3])
            }
        }
        return pixel
    }
}
