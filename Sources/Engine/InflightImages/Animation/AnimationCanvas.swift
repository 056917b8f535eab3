import InflightConcurrency

/// The canvas of an animation, on which frames are drawn and disposed of: red, green, blue and straight alpha.
///
/// Confined to one thread at a time. Its memory is allocated with the first frame.
// Safe: writes only inside its own memory, to parts that were clipped to the canvas.
@safe struct AnimationCanvas: ~Copyable {
    let width: Int
    let height: Int
    private let memory: PixelMemory

    init(width: Int, height: Int) throws(LoadError) {
        self.width = width
        self.height = height
        memory = try PixelMemory(width: width, height: height)
        clear(x: 0..<width, y: 0..<height)
    }

    func row(_ y: Int) -> UnsafeMutablePointer<SIMD4<UInt8>> {
        precondition(y >= 0 && y < height, "row \(y) is outside the canvas")
        return unsafe memory.bytes.baseAddress!.assumingMemoryBound(to: SIMD4<UInt8>.self) + y * width
    }

    func clear(x: Range<Int>, y: Range<Int>) {
        for line in y { unsafe (row(line) + x.lowerBound).update(repeating: .zero, count: x.count) }
    }

    /// Returns a copy of a part's pixels, row by row.
    func copy(x: Range<Int>, y: Range<Int>) throws(LoadError) -> PixelMemory {
        let part = try PixelMemory(width: x.count, height: y.count)
        var target = unsafe part.bytes.baseAddress!.assumingMemoryBound(to: SIMD4<UInt8>.self)
        for line in y {
            unsafe target.update(from: row(line) + x.lowerBound, count: x.count)
            unsafe target += x.count
        }
        return part
    }

    /// Restores the result of ``copy(x:y:)`` to the same part.
    func put(_ part: PixelMemory, x: Range<Int>, y: Range<Int>) {
        precondition(
            unsafe part.bytes.count >= x.count * y.count * 4, "the buffer is smaller than its part of the canvas")
        var source = unsafe part.bytes.baseAddress!.assumingMemoryBound(to: SIMD4<UInt8>.self)
        for line in y {
            unsafe (row(line) + x.lowerBound).update(from: source, count: x.count)
            unsafe source += x.count
        }
    }

    /// Draws a frame's pixels at the position of `plan`.
    func draw(
        _ pixels: PixelBuffer, _ plan: AnimationFramePlan, cancellation: CancellationFlag
    ) throws(LoadError) {
        let (x, y) = plan.visible(width: width, height: height)
        let replaces = plan.blending == .replace || pixels.format.alpha == .opaque
        let band = CancellationFlag.band(width: x.count)
        try unsafe pixels.withUnsafeBytes { (source) throws(LoadError) in
            for line in y {
                let done = line - plan.y
                if done % band == 0 { try cancellation.check() }
                let from = unsafe (source.baseAddress! + done * pixels.bytesPerRow)
                    .assumingMemoryBound(to: SIMD4<UInt8>.self)
                let to = unsafe row(line) + x.lowerBound
                if replaces {
                    unsafe to.update(from: from, count: x.count)
                } else {
                    for column in 0..<x.count { unsafe to[column] = Self.over(from[column], to[column]) }
                }
            }
        }
    }

    /// Composites one pixel over another, both with straight alpha, rounded once to the nearest. This is Porter and
    /// Duff's "over" operator and the PNG specification's "alpha channel processing" (third edition, section 13.16).
    @inline(__always)
    static func over(_ top: SIMD4<UInt8>, _ below: SIMD4<UInt8>) -> SIMD4<UInt8> {
        if top.w == 255 || below.w == 0 { return top.w == 0 ? below : top }
        if top.w == 0 { return below }
        let weights = (top: UInt32(top.w) * 255, below: UInt32(below.w) * UInt32(255 - top.w))
        let sum = weights.top + weights.below
        func mix(_ a: UInt8, _ b: UInt8) -> UInt8 {
            UInt8((UInt32(a) * weights.top + UInt32(b) * weights.below + sum / 2) / sum)
        }
        return SIMD4(mix(top.x, below.x), mix(top.y, below.y), mix(top.z, below.z), UInt8((sum + 127) / 255))
    }
}
