internal import CInflightCodecs
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

    /// The first row of each pass of an interlaced frame, and the distance between its rows (GIF89a, appendix E).
    static let passes = [(0, 8), (4, 8), (2, 4), (1, 2)]

    init(
        reader: GIFReader, structure: GIFStructure, plan: Resize.Plan, target: UnsafeMutableRawBufferPointer,
        cancellation: CancellationFlag
    ) {
        self.reader = reader
        self.structure = structure
        self.plan = plan
        unsafe self.target = unsafe target
        self.cancellation = cancellation
    }

    func run() throws(LoadError) {
        try draw(into: resizer(structure.hasAlpha ? .straight : .opaque))
    }

    /// Fills the target with the available rows; returns `nil` if there are none.
    func runPartial() throws(LoadError) -> PartialImage.Filled? {
        let resizer = resizer(.straight)
        let isWhole = try LoadError.upToDamage { () throws(LoadError) in try draw(into: resizer) }
        let pushed = resizer.pushedRows
        guard pushed > Int(reader.frame.top) else { return nil }
        resizer.pushBlankRest()
        return PartialImage.Filled(detail: pushed, isFinal: isWhole)
    }

    private func resizer(_ alpha: PixelBuffer.Format.Alpha) -> PixelRowResizer {
        unsafe PixelRowResizer(
            sourceWidth: structure.width, sourceHeight: structure.height, alpha: alpha, plan: plan, target: target)
    }

    private func draw(into resizer: PixelRowResizer) throws(LoadError) {
        let (width, height) = (Int(reader.frame.width), Int(reader.frame.height))
        let (left, top) = (Int(reader.frame.left), Int(reader.frame.top))
        guard width == structure.frameWidth, height == structure.frameHeight, left + width <= structure.width,
            top + height <= structure.height
        else {
            throw CodecError.damaged(.gif, "inconsistent sizes")
        }
        let isInterlaced = reader.frame.is_interlaced != 0
        // An interlaced frame needs all indices, others those of one row.
        let memory = try PixelMemory(width: width, height: isInterlaced ? height : 1, bytesPerPixel: 1)
        defer { extendLifetime(memory) }
        let indices = unsafe memory.bytes.assumingMemoryBound(to: UInt8.self).baseAddress!
        let band = CancellationFlag.band(width: width)
        if isInterlaced {
            var count = 0
            for (first, step) in Self.passes {
                for y in stride(from: first, to: height, by: step) {
                    if count % band == 0 { try cancellation.check() }
                    try unsafe reader.readRow(indices + y * width, width: width)
                    count += 1
                }
            }
        }
        let row = UnsafeMutablePointer<SIMD4<UInt8>>.allocate(capacity: structure.width)
        defer { unsafe row.deallocate() }
        for y in 0..<structure.height {
            if y % band == 0 { try cancellation.check() }
            unsafe row.initialize(repeating: .zero, count: structure.width)
            if y >= top, y < top + height {
                var source = unsafe indices
                if isInterlaced {
                    unsafe source += (y - top) * width
                } else {
                    try unsafe reader.readRow(indices, width: width)
                }
                for x in 0..<width { unsafe row[left + x] = reader.colors[Int(source[x])] }
            }
            unsafe resizer.push(UnsafeRawPointer(row).assumingMemoryBound(to: UInt8.self))
        }
    }
}
