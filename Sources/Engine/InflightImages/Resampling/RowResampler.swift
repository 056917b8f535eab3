/// Resizes an image row by row, in one channel or four interleaved ones.
///
/// Source rows go in from top to bottom, and target rows come out as soon as they can be computed. Buffers as many
/// source rows as the filter reaches, at most about a hundred unless the source has millions, because a large reduction
/// first averages blocks of pixels. Intermediate samples are 16-bit integers with six fractional bits.
///
/// Confined to one thread at a time.
// Safe: the pointers never escape, each has the size that the axes require, and all live as long as the object.
@safe package final class RowResampler {
    /// The layout of the source's rows.
    package enum Layout: Sendable {
        /// One byte per pixel.
        case plane
        /// Four bytes per pixel; the fourth does not affect the others.
        case interleaved
        /// Red, green, blue in any order, then straight alpha, by which the colours are multiplied on input.
        case straightAlpha

        var channels: Int { self == .plane ? 1 : 4 }
    }

    /// The value of one in intermediate samples.
    package static let one: Int16 = 64

    package let targetWidth: Int
    package let targetHeight: Int
    /// The number of source rows still to push.
    package private(set) var rowsLeft: Int

    private let layout: Layout
    private let channels: Int
    private let sourceWidth: Int
    private let sourceHeight: Int
    private let horizontal: ResampleAxis
    private let vertical: ResampleAxis
    /// The size of the blocks of pixels that are averaged first.
    private let block: (x: Int, y: Int)
    /// The columns (of blocks) that the target needs.
    private let columns: Range<Int>
    private let rows: Range<Int>
    /// The number of intermediate samples in a row; ``stride`` adds room for the kernels to read past them.
    private let rowCount: Int
    private let stride: Int
    private let slots: Int

    /// Whether source rows are interleaved as they are: without blocks and alpha.
    private let takesBytes: Bool

    /// An even row, as samples or, if ``takesBytes``, as bytes.
    private let even: UnsafeMutablePointer<Int16>
    private let odd: UnsafeMutablePointer<Int16>
    private let blockSums: UnsafeMutablePointer<Int32>
    /// Pairs of rows, interleaved sample by sample for the vertical kernel.
    private let ring: UnsafeMutablePointer<Int16>
    private let middle: UnsafeMutablePointer<Int16>
    private let result: UnsafeMutablePointer<Int16>
    private let verticalWeights: UnsafeMutablePointer<SIMD8<Int16>>
    private let pairs: UnsafeMutablePointer<UnsafePointer<Int16>>

    private var rowsInBlock = 0
    private var blockRow = 0
    private var nextTarget = 0

    /// Creates a resizer for the part of a `sourceWidth` × `sourceHeight` image that `plan` keeps.
    package convenience init(layout: Layout, sourceWidth: Int, sourceHeight: Int, plan: Resize.Plan) {
        self.init(
            layout: layout, sourceWidth: sourceWidth, sourceHeight: sourceHeight, plan: plan,
            horizontalSiting: .direct, verticalSiting: .direct)
    }

    /// Creates a resizer for a plane whose samples have the given sitings.
    ///
    /// - Parameter pixelsPerSample: the number of pixels of the plan, on each axis, that a target sample covers.
    package convenience init(
        layout: Layout, sourceWidth: Int, sourceHeight: Int, plan: Resize.Plan,
        horizontalSiting: ResampleAxis.Siting, verticalSiting: ResampleAxis.Siting, pixelsPerSample: Int = 1
    ) {
        let axes = ResampleAxes(
            sourceWidth: sourceWidth, sourceHeight: sourceHeight, plan: plan, horizontalSiting: horizontalSiting,
            verticalSiting: verticalSiting, pixelsPerSample: pixelsPerSample,
            horizontalMultiple: layout.channels == 1 ? 8 : 2)
        self.init(
            layout: layout, sourceWidth: sourceWidth, sourceHeight: sourceHeight, horizontal: axes.horizontal,
            vertical: axes.vertical, block: axes.block)
    }

    /// Creates a resizer for another plane of the same size that shares the weights of `other`.
    package convenience init(like other: RowResampler) {
        self.init(
            layout: other.layout, sourceWidth: other.sourceWidth, sourceHeight: other.sourceHeight,
            horizontal: other.horizontal, vertical: other.vertical, block: other.block)
    }

    private init(
        layout: Layout, sourceWidth: Int, sourceHeight: Int, horizontal: ResampleAxis, vertical: ResampleAxis,
        block: (x: Int, y: Int)
    ) {
        self.layout = layout
        channels = layout.channels
        self.horizontal = horizontal
        self.vertical = vertical
        self.block = block
        self.sourceWidth = sourceWidth
        self.sourceHeight = sourceHeight
        rowsLeft = sourceHeight
        takesBytes = block.x == 1 && block.y == 1 && layout != .straightAlpha
        targetWidth = horizontal.targetCount
        targetHeight = vertical.targetCount
        columns = horizontal.neededRange
        rows = vertical.neededRange
        rowCount = columns.count * channels
        stride = (rowCount + 15) / 16 * 16 + 16
        slots = vertical.taps / 2 + 1
        unsafe even = Self.zeroed(stride)
        unsafe odd = Self.zeroed(stride)
        unsafe blockSums = Self.zeroed(block.y > 1 ? stride : 1)
        unsafe ring = Self.zeroed(stride * 2 * slots)
        unsafe middle = Self.zeroed(stride + horizontal.taps * channels)
        unsafe result = Self.zeroed(targetWidth * channels + 16)
        unsafe verticalWeights = .allocate(capacity: vertical.taps / 2)
        unsafe pairs = .allocate(capacity: vertical.taps / 2)
    }

    deinit {
        unsafe even.deallocate()
        unsafe odd.deallocate()
        unsafe blockSums.deallocate()
        unsafe ring.deallocate()
        unsafe middle.deallocate()
        unsafe result.deallocate()
        unsafe verticalWeights.deallocate()
        unsafe pairs.deallocate()
    }

    private static func zeroed<Number: FixedWidthInteger>(_ count: Int) -> UnsafeMutablePointer<Number> {
        let memory = UnsafeMutablePointer<Number>.allocate(capacity: count)
        unsafe memory.initialize(repeating: 0, count: count)
        return unsafe memory
    }

    /// Processes the next source row, and calls `emit` for each target row that it completes, with the row's number and
    /// samples. Samples are values times ``one``, not yet clamped to 0 … 255, and valid during the call.
    ///
    /// - Precondition: `row` has as many bytes as the layout and the source's width require, and ``rowsLeft`` > 0.
    package func push(_ row: UnsafePointer<UInt8>, emit: (Int, UnsafePointer<Int16>) -> Void) {
        precondition(rowsLeft > 0, "more rows were pushed than the source has")
        rowsLeft -= 1
        // Properties of an object are checked for conflicting accesses each time.
        var target = nextTarget
        guard target < targetHeight else { return }
        let current = blockRow
        let isInside = rows.contains(current)
        if block.y == 1 {
            if isInside, !takesBytes { unsafe load(row, into: current & 1 == 0 ? even : odd) }
        } else {
            if isInside { unsafe addToBlock(row) }
            rowsInBlock += 1
            guard rowsInBlock == block.y || rowsLeft == 0 else { return }
            if isInside { unsafe finishBlock(into: current & 1 == 0 ? even : odd) }
            rowsInBlock = 0
        }
        let isLast = current == vertical.sourceCount - 1
        blockRow = current + 1
        guard isInside else { return }
        let slot = unsafe ring + (current / 2 % slots) * stride * 2
        if takesBytes {
            let (bytes, start) = unsafe (UnsafeMutableRawPointer(even), row + columns.lowerBound * channels)
            // The pair of the last row has no weight.
            if current & 1 == 0 { unsafe bytes.copyMemory(from: start, byteCount: rowCount) }
            guard current & 1 == 1 || isLast else { return }
            let first = unsafe UnsafePointer(bytes.assumingMemoryBound(to: UInt8.self))
            unsafe PixelKernels.interleaveBytes(first, start, count: rowCount, into: slot)
        } else {
            guard current & 1 == 1 || isLast else { return }
            unsafe PixelKernels.interleave(even, odd, count: rowCount, into: slot)
        }
        while target < targetHeight,
            unsafe min(vertical.starts[target] + vertical.taps, vertical.sourceCount) <= current + 1
        {
            make(target)
            unsafe emit(target, result)
            target += 1
        }
        nextTarget = target
    }

    private func make(_ target: Int) {
        let count = vertical.taps / 2
        let weights = unsafe vertical.weights.baseAddress! + target * vertical.taps
        var slot = unsafe vertical.starts[target] / 2 % slots
        for index in 0..<count {
            let (first, second) = unsafe (weights[2 * index], weights[2 * index + 1])
            unsafe verticalWeights[index] = SIMD8(first, second, first, second, first, second, first, second)
            unsafe pairs[index] = UnsafePointer(ring + slot * stride * 2)
            slot = slot + 1 == slots ? 0 : slot + 1
        }
        unsafe PixelKernels.weighRows(pairs, weights: verticalWeights, pairCount: count, count: rowCount, into: middle)
        let (starts, base) = unsafe (horizontal.starts, columns.lowerBound)
        let factors = unsafe horizontal.weights
        if channels == 1 {
            unsafe PixelKernels.weighColumns(
                middle, starts: starts, base: base, weights: factors, taps: horizontal.taps, into: result)
        } else {
            unsafe PixelKernels.weighPixels(
                middle, starts: starts, base: base, weights: factors, taps: horizontal.taps, into: result)
        }
    }

    private func load(_ row: UnsafePointer<UInt8>, into target: UnsafeMutablePointer<Int16>) {
        guard block.x == 1 else { return unsafe loadBlocks(row, into: target) }
        let start = unsafe row + columns.lowerBound * channels
        if layout == .straightAlpha {
            unsafe PixelKernels.widenPremultiplying(start, pixelCount: columns.count, into: target)
        } else {
            unsafe PixelKernels.widen(start, count: rowCount, into: target)
        }
    }

    /// Averages blocks of `block.x` pixels.
    private func loadBlocks(_ row: UnsafePointer<UInt8>, into target: UnsafeMutablePointer<Int16>) {
        for column in columns {
            let lower = column * block.x
            let upper = min(sourceWidth, lower + block.x)
            let share = 1 / Float(upper - lower)
            let output = unsafe target + (column - columns.lowerBound) * channels
            switch layout {
            case .plane:
                var sum: Int32 = 0
                for x in lower..<upper { unsafe sum &+= Int32(row[x]) }
                unsafe output.pointee = Int16((Float(sum) * (share * 64)).rounded())
            case .interleaved, .straightAlpha:
                var sum = SIMD4<Int32>()
                for x in lower..<upper {
                    let pixel = unsafe UnsafeRawPointer(row + 4 * x).loadUnaligned(as: SIMD4<UInt8>.self)
                    sum &+= SIMD4<Int32>(
                        truncatingIfNeeded: layout == .straightAlpha
                            ? PixelKernels.premultiplied(pixel) : SIMD4<Int16>(truncatingIfNeeded: pixel) &<< 6)
                }
                let mean = (SIMD4<Float>(sum) * share).rounded(.toNearestOrEven)
                unsafe UnsafeMutableRawPointer(output).storeBytes(of: SIMD4<Int16>(mean), as: SIMD4<Int16>.self)
            }
        }
    }

    private func addToBlock(_ row: UnsafePointer<UInt8>) {
        unsafe load(row, into: middle)
        for index in 0..<rowCount { unsafe blockSums[index] &+= Int32(middle[index]) }
    }

    private func finishBlock(into target: UnsafeMutablePointer<Int16>) {
        let share = 1 / Float(rowsInBlock)
        for index in 0..<rowCount {
            unsafe target[index] = Int16((Float(blockSums[index]) * share).rounded())
            unsafe blockSums[index] = 0
        }
    }
}
