internal import CInflightCodecs
import InflightConcurrency
import InflightImages

/// All frames of an animated WebP (RFC 9649 section 2.7): the chunks `ANIM` and `ANMF`.
///
/// The chunks are parsed here and the core composes the frames, so that libwebp's still decoder suffices.
struct WebPAnimation: AnimationSource {
    private let bytes: Bytes
    /// The chunks of each frame: the pixels, preceded by the alpha if it is separate.
    private let places: [Range<Int>]
    private let profile: Range<Int>?
    let info: ImageInfo
    private(set) var loopCount: Int?
    let frames: [AnimationFramePlan]
    let isCutShort: Bool

    /// Returns `nil` for a still image. Throws ``LoadError/Code/damaged`` if a frame is outside the canvas, or none is
    /// complete.
    init?(_ bytes: Bytes, options: DecodeOptions) throws(LoadError) {
        let structure = try WebPStructure.wholeHeader(bytes)
        guard structure.isAnimated else { return nil }
        var frames: [AnimationFramePlan] = []
        var places: [Range<Int>] = []
        loopCount = 1
        let end = 8 + (bytes.little32(at: 4) ?? 0)
        var position = 12
        while position < min(end, bytes.count), let size = bytes.little32(at: position + 4),
            size <= bytes.count - position - 8
        {
            let content = position + 8..<position + 8 + size
            if bytes.has("ANIM", at: position), size >= 6, let loops = bytes.little16(at: content.lowerBound + 4) {
                loopCount = loops == 0 ? nil : loops
            } else if bytes.has("ANMF", at: position) {
                try options.checkFrames(frames.count + 1)
                frames.append(try Self.plan(bytes, content, structure))
                places.append(content.lowerBound + 16..<content.upperBound)
            }
            position = content.upperBound + size % 2
        }
        guard !frames.isEmpty else { throw CodecError.truncated(.webp) }
        self.bytes = bytes
        self.frames = frames
        self.places = places
        isCutShort = position < end
        profile = structure.profile
        info = structure.info(bytes)
    }

    private static func plan(
        _ bytes: Bytes, _ content: Range<Int>, _ structure: WebPStructure
    ) throws(LoadError) -> AnimationFramePlan {
        let start = content.lowerBound
        guard content.count >= 24, let x = bytes.little24(at: start), let y = bytes.little24(at: start + 3),
            let width = bytes.little24(at: start + 6), let height = bytes.little24(at: start + 9),
            let milliseconds = bytes.little24(at: start + 12), let flags = bytes.byte(at: start + 15)
        else { throw CodecError.damaged(.webp, "malformed frame") }
        guard 2 * x + width < structure.width, 2 * y + height < structure.height else {
            throw CodecError.damaged(.webp, "a frame is outside the canvas")
        }
        // A lossless bitstream has its own alpha flag.
        let isLossless = bytes.has("VP8L", at: start + 16)
        let hasAlpha = isLossless ? bytes.little32(at: start + 25).map { $0 >> 28 & 1 != 0 } ?? true : true
        return AnimationFramePlan(
            x: 2 * x, y: 2 * y, width: width + 1, height: height + 1, duration: .frame(milliseconds: milliseconds),
            blending: flags & 2 == 0 ? .over : .replace, disposal: flags & 1 == 0 ? .keep : .clear,
            hasAlpha: isLossless ? hasAlpha : !bytes.has("VP8 ", at: start + 16))
    }

    func pixels(ofFrame index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        let plan = frames[index]
        let memory = try PixelMemory(width: plan.width, height: plan.height)
        let target = unsafe memory.bytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
        var done = 0
        let reader = try WebPReader(width: plan.width, height: plan.height, wantsPlanes: false)
        try unsafe reader.decode(bytes, places[index], cancellation: cancellation) { (rows, _) throws(LoadError) in
            guard unsafe Int(rows.width) == plan.width, unsafe Int(rows.height) == plan.height,
                let pixels = unsafe rows.pixels
            else { throw CodecError.damaged(.webp, "inconsistent sizes") }
            while done < min(unsafe Int(rows.rows), plan.height) {
                unsafe (target + done * plan.width * 4)
                    .update(from: pixels + done * Int(rows.pixel_stride), count: plan.width * 4)
                done += 1
            }
        }
        guard done == plan.height else { throw CodecError.truncated(.webp) }
        if let transform = profile.flatMap({ ColorTransform.forProfile(bytes.slice($0), kind: .rgb) }) {
            unsafe transform.apply(memory.bytes, pixelCount: plan.width * plan.height)
        }
        return PixelBuffer(
            width: plan.width, height: plan.height, bytesPerRow: plan.width * 4,
            format: plan.hasAlpha ? .rgba : .rgbx, bytes: memory.shared)
    }
}
