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
        let (plan, first) = resize.plans(sourceWidth: info.width, sourceHeight: info.height)
        if first == plan { return try compose(index, options, cancellation) }
        var whole = options
        whole.resize = Resize(width: first.width, height: first.height, fit: .exact, light: resize.light)
        let corner: (x: Int, y: Int)
        if let known = self.corner {
            corner = known
        } else {
            let start = try compose(0, whole, cancellation)
            corner = start.interestingPart(width: plan.width, height: plan.height)
            self.corner = corner
            if index == 0 {
                return start.cropped(x: corner.x, y: corner.y, width: plan.width, height: plan.height)
            }
        }
        return try compose(index, whole, cancellation)
            .cropped(x: corner.x, y: corner.y, width: plan.width, height: plan.height)
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
