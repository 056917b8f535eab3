import InflightConcurrency
import InflightImages

/// All frames of an animated PNG (PNG specification, third edition, sections 4.9 and 11.3.6). Each is rewritten in
/// memory as a separate PNG and decoded like any other.
struct PNGAnimation: AnimationSource {
    private let bytes: Bytes
    private let rewriter: PNGFrameRewriter
    /// The chunks with each frame's data, `IDAT` or `fdAT`, possibly with others between them.
    private let places: [Range<Int>]
    private let maximumPixels: Int
    let info: ImageInfo
    let loopCount: Int?
    let frames: [AnimationFramePlan]
    let isCutShort: Bool

    /// Returns `nil` for a still image: one without an animation declared before its pixels, or without a frame
    /// control; and if the animation's chunks are out of order or contradict the header (section 13.1).
    ///
    /// Throws ``LoadError/Code/damaged`` if no frame is complete.
    init?(_ bytes: Bytes, options: DecodeOptions) throws(LoadError) {
        let structure = try PNGStructure.wholeHeader(bytes)
        var walk = PNGAnimationWalk(structure, bytes)
        do throws(LoadError) {
            guard try walk.run(options) else { return nil }
        } catch {
            guard error.code == .damaged else { throw error }
            return nil
        }
        guard !walk.frames.isEmpty else { throw CodecError.truncated(.png) }
        self.bytes = bytes
        info = structure.info(bytes)
        rewriter = PNGFrameRewriter(bytes, copied: walk.copied)
        places = walk.places
        frames = walk.frames
        loopCount = walk.loopCount == 0 ? nil : walk.loopCount
        isCutShort = walk.frames.count < walk.declaredCount
        maximumPixels = options.maximumPixels
    }

    func pixels(ofFrame index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        let plan = frames[index]
        let file = try rewriter.file(width: plan.width, height: plan.height, data: places[index])
        var options = DecodeOptions()
        options.maximumPixels = maximumPixels
        return try PNGCodec().decode(file, format: .png, options: options, cancellation: cancellation)
    }
}

/// Parses the chunks of an animated PNG.
struct PNGAnimationWalk {
    private let structure: PNGStructure
    private let bytes: Bytes
    /// The chunks before the pixels that determine their meaning.
    private(set) var copied: [Range<Int>] = []
    private(set) var frames: [AnimationFramePlan] = []
    private(set) var places: [Range<Int>] = []
    private(set) var declaredCount = 0
    private(set) var loopCount = 0
    /// The frame of the last frame control, and the start of its first data chunk, if it has one.
    private var current: (plan: AnimationFramePlan, start: Int?)?
    /// The next sequence number, which frame controls and data share.
    private var nextSequence = 0
    private var hasPixels = false

    init(_ structure: PNGStructure, _ bytes: Bytes) {
        self.structure = structure
        self.bytes = bytes
    }

    /// - Returns: whether the file is an animation.
    mutating func run(_ options: DecodeOptions) throws(LoadError) -> Bool {
        var position = 8
        var hasEnded = false
        while !hasEnded, let length = bytes.big32(at: position), length <= bytes.count - position - 12 {
            let content = position + 8..<position + 8 + length
            let next = content.upperBound + 4
            if bytes.has("IDAT", at: position + 4) {
                // An animation must be declared before the pixels, perhaps after their frame control.
                if declaredCount == 0 { return false }
                // The still image is the first frame if a frame control precedes it.
                if !hasPixels, current != nil { begin(at: position) }
                hasPixels = true
            } else if bytes.has("acTL", at: position + 4), !hasPixels {
                try readAnimation(content)
            } else if bytes.has("fcTL", at: position + 4), declaredCount > 0 || !hasPixels {
                try finish(before: position, options)
                try readControl(content)
            } else if bytes.has("fdAT", at: position + 4), declaredCount > 0 {
                try readData(content)
            } else if bytes.has("IEND", at: position + 4) {
                try finish(before: position, options)
                hasEnded = true
            } else if !hasPixels, PNGFrameRewriter.isCopied(bytes, at: position) {
                copied.append(position..<next)
            }
            // Frames beyond the declared number are not part of the animation.
            if declaredCount > 0, frames.count == declaredCount { return true }
            position = next
        }
        // A complete file without any frame is a still image, despite its declaration.
        return declaredCount > 0 && !(hasEnded && frames.isEmpty)
    }

    private mutating func readAnimation(_ content: Range<Int>) throws(LoadError) {
        guard content.count == 8, let count = bytes.big32(at: content.lowerBound),
            let loops = bytes.big32(at: content.lowerBound + 4), declaredCount == 0, count > 0,
            PNGStructure.isIntact(bytes, content)
        else { throw CodecError.damaged(.png, "malformed animation header") }
        declaredCount = count
        loopCount = loops
    }

    private mutating func readControl(_ content: Range<Int>) throws(LoadError) {
        let start = content.lowerBound
        guard content.count == 26, let sequence = bytes.big32(at: start), let width = bytes.big32(at: start + 4),
            let height = bytes.big32(at: start + 8), let x = bytes.big32(at: start + 12),
            let y = bytes.big32(at: start + 16), let numerator = bytes.big16(at: start + 20),
            let denominator = bytes.big16(at: start + 22), PNGStructure.isIntact(bytes, content)
        else { throw CodecError.damaged(.png, "malformed frame header") }
        guard sequence == nextSequence else { throw Self.disorder }
        nextSequence += 1
        let (disposal, blending) = (bytes[start + 24], bytes[start + 25])
        guard width > 0, height > 0, x + width <= structure.width, y + height <= structure.height, disposal < 3,
            blending < 2, hasPixels || (width == structure.width && height == structure.height)
        else {
            throw CodecError.damaged(.png, "a frame is outside the canvas or has an unknown disposal or blending")
        }
        let milliseconds = numerator * 1000 / (denominator == 0 ? 100 : denominator)
        current = (
            AnimationFramePlan(
                x: x, y: y, width: width, height: height, duration: .frame(milliseconds: milliseconds),
                blending: blending == 0 ? .replace : .over, disposal: [.keep, .clear, .restore][Int(disposal)],
                hasAlpha: structure.hasAlpha), nil
        )
    }

    private mutating func readData(_ content: Range<Int>) throws(LoadError) {
        guard content.count >= 4, hasPixels, current != nil, bytes.big32(at: content.lowerBound) == nextSequence else {
            throw Self.disorder
        }
        nextSequence += 1
        begin(at: content.lowerBound - 8)
    }

    private mutating func begin(at position: Int) {
        if current?.start == nil { current?.start = position }
    }

    /// Completes the last frame, because the next one starts or the file ends.
    private mutating func finish(before position: Int, _ options: DecodeOptions) throws(LoadError) {
        guard let (plan, start) = current else { return }
        guard let start else { throw Self.disorder }
        try options.checkFrames(frames.count + 1)
        frames.append(plan)
        places.append(start..<position)
        current = nil
    }

    private static var disorder: LoadError { CodecError.damaged(.png, "frames out of order") }
}
