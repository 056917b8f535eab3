import InflightConcurrency

/// Composes an animation's frames on a canvas, in any order.
///
/// Going forwards, each frame is decoded once. Going backwards starts at the nearest frame that does not depend on
/// earlier ones. Memory: the canvas, one frame as stored, the part of the canvas to restore, and the result.
final class FrameComposer: FrameRendering {
    private let source: any AnimationSource
    private let options: DecodeOptions
    private let order: FrameDependencies
    private let info: ImageInfo
    private var canvas: AnimationCanvas?
    /// The frame that the canvas is ready for, with earlier ones disposed of; `nil` if the canvas is incomplete.
    private var ready: Int?
    /// The origin of the interesting part of the first frame, used for all frames so that the crop does not jump.
    private var corner: (x: Int, y: Int)?

    /// - Throws: if the animation exceeds the limits of `options`.
    init(_ source: any AnimationSource, options: DecodeOptions) throws(LoadError) {
        try options.check(source)
        var info = source.info
        precondition(!source.frames.isEmpty, "an animation needs at least one frame")
        order = FrameDependencies(source.frames, width: info.storedWidth, height: info.storedHeight)
        info.hasAlpha = order.hasAlpha
        self.info = info
        self.source = source
        self.options = options
        _ = try options.storedPlan(for: info)
    }

    func frame(at index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        guard let resize = options.resize else { return try compose(index, options, cancellation) }
        let (plan, finish) = resize.stages(sourceWidth: info.width, sourceHeight: info.height)
        if finish == .nothing { return try compose(index, options, cancellation) }
        let whole = options.following(plan)
        guard case .crop(let width, let height) = finish else {
            return try compose(index, whole, cancellation).finished(finish, of: resize).inFormat(of: options)
        }
        let corner: (x: Int, y: Int)
        if let known = self.corner {
            corner = known
        } else {
            let start = try compose(0, whole, cancellation)
            corner = start.interestingPart(width: width, height: height)
            self.corner = corner
            if index == 0 {
                return start.cropped(x: corner.x, y: corner.y, width: width, height: height)
            }
        }
        return try compose(index, whole, cancellation)
            .cropped(x: corner.x, y: corner.y, width: width, height: height)
    }

    /// Composes a frame, renders it at the requested size, and disposes of it.
    private func compose(
        _ index: Int, _ options: DecodeOptions, _ cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        try cancellation.check()
        if canvas == nil { canvas = try AnimationCanvas(width: info.storedWidth, height: info.storedHeight) }
        let (first, clears) = order.start(for: index, ready: ready)
        // Until this call succeeds, the canvas is unusable.
        ready = nil
        if clears { canvas?.clear(x: 0..<info.storedWidth, y: 0..<info.storedHeight) }
        for earlier in first..<index { try pass(earlier, cancellation) }
        let plan = source.frames[index]
        let part = plan.visible(width: info.storedWidth, height: info.storedHeight)
        let hidden =
            plan.disposal == .restore && !part.x.isEmpty ? try canvas?.copy(x: part.x, y: part.y) : nil
        try draw(index, cancellation)
        let result = try output(options, cancellation)
        switch plan.disposal {
        case .keep: break
        case .clear: canvas?.clear(x: part.x, y: part.y)
        case .restore: if let hidden { canvas?.put(hidden, x: part.x, y: part.y) }
        }
        ready = index + 1
        return result
    }

    /// Advances the canvas past a frame that was not requested.
    private func pass(_ index: Int, _ cancellation: CancellationFlag) throws(LoadError) {
        try cancellation.check()
        let plan = source.frames[index]
        switch plan.disposal {
        case .keep: try draw(index, cancellation)
        case .clear:
            let part = plan.visible(width: info.storedWidth, height: info.storedHeight)
            canvas?.clear(x: part.x, y: part.y)
        case .restore: break
        }
    }

    private func draw(_ index: Int, _ cancellation: CancellationFlag) throws(LoadError) {
        let plan = source.frames[index]
        let pixels = try source.pixels(ofFrame: index, cancellation: cancellation)
        guard pixels.width == plan.width, pixels.height == plan.height else {
            throw CodecError.damaged(info.format, "its sizes are inconsistent")
        }
        let form = PixelBuffer.Format(order: .rgba, alpha: pixels.format.alpha == .opaque ? .opaque : .straight)
        try canvas?.draw(pixels.converted(to: form), plan, cancellation: cancellation)
    }

    private func output(
        _ options: DecodeOptions, _ cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        try unsafe info.makePixels(options, cancellation: cancellation) { (plan, target) throws(LoadError) in
            let resizer = unsafe PixelRowResizer(
                sourceWidth: info.storedWidth, sourceHeight: info.storedHeight,
                alpha: info.hasAlpha ? .straight : .opaque, plan: plan, target: target)
            let band = CancellationFlag.band(width: info.storedWidth)
            for y in 0..<info.storedHeight {
                if y % band == 0 { try cancellation.check() }
                guard let row = unsafe canvas?.row(y) else { preconditionFailure("a frame without a canvas") }
                unsafe resizer.push(UnsafeRawPointer(row).assumingMemoryBound(to: UInt8.self))
            }
        }
    }
}

/// Computes which frames a frame of an animation depends on, and whether any composed frame is transparent.
struct FrameDependencies {
    /// For each frame, whether the canvas is fully transparent before it, for any composition of the earlier frames.
    private let startsEmpty: [Bool]
    /// For each frame, whether the canvas before it is invisible during the frame and after its disposal.
    private let startsAnew: [Bool]
    private let frames: [AnimationFramePlan]
    /// Whether any composed frame may have transparent pixels.
    let hasAlpha: Bool

    init(_ frames: [AnimationFramePlan], width: Int, height: Int) {
        var startsEmpty: [Bool] = []
        for index in frames.indices {
            guard index > 0 else {
                startsEmpty.append(true)
                continue
            }
            let before = frames[index - 1]
            switch before.disposal {
            case .keep: startsEmpty.append(false)
            case .restore: startsEmpty.append(startsEmpty[index - 1])
            case .clear:
                startsEmpty.append(startsEmpty[index - 1] || before.covers(width: width, height: height))
            }
        }
        self.startsEmpty = startsEmpty
        startsAnew = frames.indices.map { index in
            let frame = frames[index]
            let hidesAll =
                frame.covers(width: width, height: height) && (frame.blending == .replace || !frame.hasAlpha)
            // A frame that restores the contents afterwards needs them even if it hides them.
            return startsEmpty[index] || (hidesAll && frame.disposal != .restore)
        }
        self.frames = frames
        let isFilledAtOnce = frames.first.map { !$0.hasAlpha && $0.covers(width: width, height: height) } ?? false
        let staysFilled = frames.enumerated().allSatisfy { index, frame in
            let isLast = index == frames.count - 1
            let leavesHoles = frame.disposal == .clear || (index == 0 && frame.disposal == .restore)
            return (isLast || !leavesHoles) && (frame.blending == .over || !frame.hasAlpha)
        }
        hasAlpha = !(isFilledAtOnce && staysFilled)
    }

    /// Returns the last frame, up to `index`, that can be composed without earlier frames.
    func keyFrame(before index: Int) -> Int {
        (0...index).last { startsAnew[$0] } ?? 0
    }

    /// Returns the first frame to draw on a canvas that is ready for `ready` (`nil` if for none) in order to reach
    /// frame `index`, and whether to clear the canvas first.
    func start(for index: Int, ready: Int?) -> (first: Int, clears: Bool) {
        let key = keyFrame(before: index)
        if let ready, ready <= index, ready >= key { return (ready, false) }
        return (key, true)
    }
}

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

/// Makes the composed frames of one image at the requested size.
///
/// Confined to one thread at a time.
protocol FrameRendering: AnyObject {
    func frame(at index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer
}

/// Makes the single frame of a still.
final class StillFrame: FrameRendering {
    private let codecs: CodecRegistry
    private let bytes: Bytes
    private let options: DecodeOptions

    init(_ bytes: Bytes, codecs: CodecRegistry, options: DecodeOptions) {
        self.codecs = codecs
        self.bytes = bytes
        self.options = options
    }

    func frame(at index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        try codecs.decode(bytes, options: options, cancellation: cancellation).0
    }
}
