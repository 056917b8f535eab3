import InflightConcurrency
import InflightImages

/// A decode of one bitmap into the output buffer of a resize plan.
// Safe: it writes only to `target`, whose size the resizer checks against the plan.
@safe struct BMPDecoding {
    private let bytes: Bytes
    private let structure: BMPStructure
    private let plan: Resize.Plan
    private let target: UnsafeMutableRawBufferPointer
    private let cancellation: CancellationFlag
    private let format: ImageFormat
    /// The start of an icon's mask of transparent pixels, one bit each, in rows from the bottom, after the pixels.
    private let maskStart: Int?

    init(
        _ bytes: Bytes, _ structure: BMPStructure, plan: Resize.Plan, target: UnsafeMutableRawBufferPointer,
        cancellation: CancellationFlag, format: ImageFormat = .bmp, maskStart: Int? = nil
    ) {
        self.bytes = bytes
        self.structure = structure
        self.plan = plan
        unsafe self.target = unsafe target
        self.cancellation = cancellation
        self.format = format
        self.maskStart = maskStart
    }

    func run() throws(LoadError) {
        let (width, height) = (structure.width, structure.height)
        // The length is checked before any pixel is read.
        try structure.checkLength(bytes, format: format)
        let indices = structure.compression == .runs ? try readRuns() : nil
        defer { extendLifetime(indices) }
        let resizer = unsafe ProfiledRowResizer(
            sourceWidth: width, sourceHeight: height,
            alpha: structure.hasAlpha || maskStart != nil ? .straight : .opaque, plan: plan, target: target,
            transform: structure.profile.flatMap { ColorTransform.forProfile(bytes.part($0), kind: .rgb) })
        let row = UnsafeMutablePointer<SIMD4<UInt8>>.allocate(capacity: width)
        defer { unsafe row.deallocate() }
        let colors = structure.bits <= 8 ? structure.palette(bytes) : []
        let channels = structure.masks.map(BMPChannel.init)
        let alphaIsUsed = maskStart == nil || usesAlpha
        let band = CancellationFlag.band(width: width)
        for y in 0..<height {
            if y % band == 0 { try cancellation.check() }
            let stored = structure.isTopDown ? y : height - 1 - y
            if let indices {
                let memory = unsafe indices.bytes
                for x in 0..<width { unsafe row[x] = colors[Int(memory[stored * width + x])] }
            } else {
                unsafe readRow(structure.pixelStart + stored * structure.bytesPerRow, colors, channels, row)
            }
            if let maskStart {
                if !alphaIsUsed { for x in 0..<width { unsafe row[x][3] = 255 } }
                if !alphaIsUsed || structure.masks.count < 4 { unsafe mask(row, maskStart, stored) }
            }
            unsafe resizer.push(UnsafeRawPointer(row).assumingMemoryBound(to: UInt8.self))
        }
        resizer.finish()
    }

    private func readRow(
        _ start: Int, _ colors: [SIMD4<UInt8>], _ channels: [BMPChannel], _ row: UnsafeMutablePointer<SIMD4<UInt8>>
    ) {
        unsafe bytes.withUnsafeBytes { memory in
            let source = unsafe memory.baseAddress! + start
            let width = structure.width
            switch structure.bits {
            case 8:
                for x in 0..<width { unsafe row[x] = colors[Int(source.load(fromByteOffset: x, as: UInt8.self))] }
            case 1, 2, 4:
                let bits = structure.bits
                let perByte = 8 / bits
                for x in 0..<width {
                    let byte = unsafe source.load(fromByteOffset: x / perByte, as: UInt8.self)
                    let index = Int(byte >> UInt8(8 - bits - x % perByte * bits)) & (1 << bits - 1)
                    unsafe row[x] = colors[index]
                }
            case 24:
                for x in 0..<width {
                    let pixel = unsafe source + 3 &* x
                    unsafe row[x] = SIMD4(
                        pixel.load(fromByteOffset: 2, as: UInt8.self), pixel.load(fromByteOffset: 1, as: UInt8.self),
                        pixel.load(as: UInt8.self), 255)
                }
            case 16:
                for x in 0..<width {
                    let pixel = unsafe source.loadUnaligned(fromByteOffset: 2 &* x, as: UInt16.self)
                    unsafe row[x] = Self.color(UInt32(UInt16(littleEndian: pixel)), channels)
                }
            default:
                for x in 0..<width {
                    let pixel = unsafe source.loadUnaligned(fromByteOffset: 4 &* x, as: UInt32.self)
                    unsafe row[x] = Self.color(UInt32(littleEndian: pixel), channels)
                }
            }
        }
    }

    @inline(__always)
    private static func color(_ pixel: UInt32, _ channels: [BMPChannel]) -> SIMD4<UInt8> {
        SIMD4(
            channels[0].value(pixel), channels[1].value(pixel), channels[2].value(pixel),
            channels.count > 3 && channels[3].mask != 0 ? channels[3].value(pixel) : 255)
    }

    /// Returns the indices of all pixels, as stored. Skipped pixels have the first colour.
    private func readRuns() throws(LoadError) -> PixelMemory {
        let memory = try PixelMemory(width: structure.width, height: structure.height, bytesPerPixel: 1)
        let indices = unsafe memory.bytes
        unsafe indices.initializeMemory(as: UInt8.self, repeating: 0)
        var runs = BMPRuns(bytes: bytes, structure: structure)
        let width = structure.width
        try runs.read(check: cancellation.check) { x, y, index in unsafe indices[y * width + x] = index }
        return memory
    }

    /// Whether any pixel of an icon has alpha. Old icons leave all of it zero and rely on the mask.
    private var usesAlpha: Bool {
        guard structure.hasAlpha, structure.bits == 32 else { return false }
        return unsafe bytes.withUnsafeBytes { memory in
            for y in 0..<structure.height {
                let row = structure.pixelStart + y * structure.bytesPerRow
                for x in 0..<structure.width where unsafe memory[row + 4 * x + 3] != 0 { return true }
            }
            return false
        }
    }

    private func mask(_ row: UnsafeMutablePointer<SIMD4<UInt8>>, _ start: Int, _ stored: Int) {
        let place = start + stored * ((structure.width + 31) / 32 * 4)
        for x in 0..<structure.width {
            guard let byte = bytes.byte(at: place + x / 8) else { return }
            if byte >> (7 - x % 8) & 1 != 0 { unsafe row[x] = .zero }
        }
    }
}

/// One component of a pixel: the position and scale of its bits.
struct BMPChannel {
    let mask: UInt32
    private let shift: UInt32
    private let values: [UInt8]

    init(_ mask: UInt32) {
        self.mask = mask
        let count = mask.nonzeroBitCount
        // More than eight bits are reduced to the highest eight.
        shift = mask == 0 ? 0 : UInt32(mask.trailingZeroBitCount + max(0, count - 8))
        let largest = 1 << min(count, 8) - 1
        values = (0..<256).map { largest == 0 ? 0 : UInt8(min(255, ($0 * 255 + largest / 2) / largest)) }
    }

    @inline(__always)
    func value(_ pixel: UInt32) -> UInt8 { values[Int((pixel & mask) >> shift)] }
}
