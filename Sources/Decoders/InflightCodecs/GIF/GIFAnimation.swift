import InflightConcurrency
import InflightImages

/// All frames of a GIF file. Each frame has its own decoder, because frames depend only on the canvas.
struct GIFAnimation: AnimationSource {
    private let places: [GIFStructure.Place]
    private let bytes: Bytes
    let info: ImageInfo
    let loopCount: Int?
    let frames: [AnimationFramePlan]
    let isCutShort: Bool

    /// Throws ``LoadError/Code/damaged`` if not even one frame is complete.
    init(_ bytes: Bytes, options: DecodeOptions) throws(LoadError) {
        var structure = GIFStructure()
        var frames: [AnimationFramePlan] = []
        var places: [GIFStructure.Place] = []
        // Like browsers, play once by default, and otherwise repeat the given number of times after that.
        var loopCount: Int? = 1
        let end = try structure.walk(bytes) { (block) throws(LoadError) in
            switch block {
            case .loop(let repetitions): loopCount = repetitions == 0 ? nil : repetitions + 1
            case .frame(let place):
                try options.checkFrames(frames.count + 1)
                frames.append(try Self.plan(bytes, at: place))
                places.append(place)
            }
        }
        guard !frames.isEmpty else {
            if case .needs = end { throw CodecError.truncated(.gif) }
            throw CodecError.damaged(.gif, "no image data")
        }
        if case .trailer = end { isCutShort = false } else { isCutShort = true }
        self.bytes = bytes
        self.frames = frames
        self.places = places
        self.loopCount = loopCount
        info = structure.info(bytes)
    }

    /// Returns the frame of a descriptor and its preceding graphic control extension (GIF89a, sections 20 and 23).
    private static func plan(
        _ bytes: Bytes, at place: GIFStructure.Place
    ) throws(LoadError) -> AnimationFramePlan {
        let start = place.descriptor
        guard let x = bytes.little16(at: start + 1), let y = bytes.little16(at: start + 3),
            let width = bytes.little16(at: start + 5), let height = bytes.little16(at: start + 7), width > 0, height > 0
        else { throw CodecError.damaged(.gif, "a frame without a size") }
        var plan = AnimationFramePlan(
            x: x, y: y, width: width, height: height, duration: .frame(milliseconds: 0), hasAlpha: false)
        guard let control = place.control, bytes.byte(at: control + 2) == 4, let flags = bytes.byte(at: control + 3),
            let hundredths = bytes.little16(at: control + 4)
        else { return plan }
        plan.hasAlpha = GIFStructure.transparentIndex(bytes, control: control) != nil
        plan.duration = .frame(milliseconds: hundredths * 10)
        switch flags >> 2 & 7 {
        case 2: plan.disposal = .clear
        // Some programs treat these bits as flags and write 4. Browsers accept both.
        case 3, 4: plan.disposal = .restore
        default: plan.disposal = .keep
        }
        return plan
    }

    func pixels(ofFrame index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        let plan = frames[index]
        let memory = try PixelMemory(width: plan.width, height: plan.height)
        let reader = try GIFReader(bytes, places[index])
        let indices = UnsafeMutablePointer<UInt8>.allocate(capacity: plan.width)
        defer { unsafe indices.deallocate() }
        let target = unsafe memory.bytes.baseAddress!.assumingMemoryBound(to: SIMD4<UInt8>.self)
        try reader.eachRow(cancellation) { (y) throws(LoadError) in
            try unsafe reader.readRow(indices)
            let row = unsafe target + y * plan.width
            for x in 0..<plan.width { unsafe row[x] = reader.colors[Int(indices[x])] }
        }
        return PixelBuffer(
            width: plan.width, height: plan.height, bytesPerRow: plan.width * 4,
            format: plan.hasAlpha ? .rgba : .rgbx, bytes: memory.shared)
    }
}
