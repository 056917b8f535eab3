import Inflight

/// Encodes still images as GIF, with up to 256 colours chosen for the image. The library itself only decodes GIF.
struct GIFEncoder {
    private let pixels: PixelBuffer
    private var bytes: [UInt8] = []

    static func encode(_ pixels: PixelBuffer) -> Bytes {
        var encoder = GIFEncoder(pixels: pixels)
        encoder.write()
        return Bytes(encoder.bytes)
    }

    private init(pixels: PixelBuffer) {
        self.pixels = pixels
    }

    private mutating func write() {
        let palette = ColorTable(pixels)
        bytes += Array("GIF87a".utf8)
        append(pixels.width)
        append(pixels.height)
        // A table of 256 colours, 8 bits deep; no background, square pixels.
        bytes += [0xF7, 0, 0]
        for color in palette.colors { bytes += [UInt8(color.x), UInt8(color.y), UInt8(color.z)] }
        bytes.append(0x2C)
        append(0)
        append(0)
        append(pixels.width)
        append(pixels.height)
        bytes += [0, 8]
        var codes = CodeWriter()
        codes.write(palette.indices(of: pixels))
        for start in stride(from: 0, to: codes.bytes.count, by: 255) {
            let block = codes.bytes[start..<min(start + 255, codes.bytes.count)]
            bytes.append(UInt8(block.count))
            bytes += block
        }
        bytes += [0, 0x3B]
    }

    private mutating func append(_ number: Int) {
        bytes += [UInt8(number & 255), UInt8(number >> 8 & 255)]
    }
}

/// GIF's variant of LZW: codes that grow from 9 to 12 bits, then start over.
private struct CodeWriter {
    var bytes: [UInt8] = []
    private var pending: UInt32 = 0
    private var pendingBits = 0
    private var width = 9
    private var next = 258
    /// The code for a known string and one more byte; 0 if there is none yet.
    private var children = [UInt16](repeating: 0, count: 4096 * 256)
    private var used: [Int] = []

    mutating func write(_ indices: [UInt8]) {
        put(256)
        var prefix = Int(indices[0])
        for index in indices.dropFirst() {
            let key = prefix << 8 | Int(index)
            if children[key] != 0 {
                prefix = Int(children[key])
                continue
            }
            put(prefix)
            if next < 4096 {
                children[key] = UInt16(next)
                used.append(key)
                if next == 1 << width { width += 1 }
                next += 1
            } else {
                put(256)
                for key in used { children[key] = 0 }
                used.removeAll(keepingCapacity: true)
                width = 9
                next = 258
            }
            prefix = Int(index)
        }
        put(prefix)
        put(257)
        if pendingBits > 0 { bytes.append(UInt8(pending & 255)) }
    }

    private mutating func put(_ code: Int) {
        pending |= UInt32(code) << UInt32(pendingBits)
        pendingBits += width
        while pendingBits >= 8 {
            bytes.append(UInt8(pending & 255))
            pending >>= 8
            pendingBits -= 8
        }
    }
}

/// Chooses 256 colours for an image by splitting the box of its colours repeatedly (Heckbert's median cut).
private struct ColorTable {
    private(set) var colors: [SIMD4<Int32>] = []
    /// The nearest colour for each of 32 × 32 × 32 cells, computed on first use.
    private var nearest = [Int16](repeating: -1, count: 32768)

    init(_ pixels: PixelBuffer) {
        var counts = [Int32](repeating: 0, count: 32768)
        for y in 0..<pixels.height {
            for x in 0..<pixels.width { counts[Self.cell(Self.color(pixels, x, y))] += 1 }
        }
        var boxes = [(0..<32768).filter { counts[$0] > 0 }.map { (cell: $0, count: counts[$0]) }]
        while boxes.count < 256 {
            // The box of colours with the widest span.
            let widths = boxes.map { box in box.count < 2 ? 0 : Self.widest(box).span }
            guard let index = boxes.indices.max(by: { widths[$0] < widths[$1] }), widths[index] > 0 else { break }
            let axis = Self.widest(boxes[index]).axis
            let sorted = boxes[index].sorted { Self.middle($0.cell)[axis] < Self.middle($1.cell)[axis] }
            let half = sorted.reduce(0) { $0 + Int($1.count) } / 2
            var sum = 0
            var cut = 0
            while cut < sorted.count - 1, sum + Int(sorted[cut].count) <= half || cut == 0 {
                sum += Int(sorted[cut].count)
                cut += 1
            }
            boxes[index] = Array(sorted[..<cut])
            boxes.append(Array(sorted[cut...]))
        }
        colors = boxes.map { box in
            let total = box.reduce(into: SIMD4<Int32>.zero) { $0 &+= Self.middle($1.cell) &* $1.count }
            let count = max(1, box.reduce(0) { $0 + $1.count })
            return total / SIMD4(repeating: count)
        }
        while colors.count < 256 { colors.append(.zero) }
    }

    /// Returns each pixel's index into the table, with error diffusion (Floyd and Steinberg).
    func indices(of pixels: PixelBuffer) -> [UInt8] {
        var table = self
        var result: [UInt8] = []
        result.reserveCapacity(pixels.width * pixels.height)
        var below = [SIMD4<Int32>](repeating: .zero, count: pixels.width + 2)
        for y in 0..<pixels.height {
            var ahead = SIMD4<Int32>.zero
            var next = [SIMD4<Int32>](repeating: .zero, count: pixels.width + 2)
            for x in 0..<pixels.width {
                let wanted = (Self.color(pixels, x, y) &+ (ahead &+ below[x + 1]) / SIMD4(repeating: 16))
                    .clamped(lowerBound: .zero, upperBound: SIMD4(repeating: 255))
                let index = table.index(of: wanted)
                result.append(UInt8(index))
                let error = wanted &- colors[index]
                ahead = error &* 7
                next[x] &+= error &* 3
                next[x + 1] &+= error &* 5
                next[x + 2] &+= error
            }
            below = next
        }
        return result
    }

    private mutating func index(of color: SIMD4<Int32>) -> Int {
        let cell = Self.cell(color)
        if nearest[cell] >= 0 { return Int(nearest[cell]) }
        let middle = Self.middle(cell)
        var best = (index: 0, distance: Int32.max)
        for (index, color) in colors.enumerated() {
            let difference = color &- middle
            let distance = (difference &* difference).wrappedSum()
            if distance < best.distance { best = (index, distance) }
        }
        nearest[cell] = Int16(best.index)
        return best.index
    }

    private static func widest(_ box: [(cell: Int, count: Int32)]) -> (axis: Int, span: Int32) {
        var low = SIMD4<Int32>(repeating: 255)
        var high = SIMD4<Int32>.zero
        for (cell, _) in box {
            let color = middle(cell)
            low.replace(with: color, where: color .< low)
            high.replace(with: color, where: color .> high)
        }
        let span = high &- low
        let axis = span.x >= span.y && span.x >= span.z ? 0 : span.y >= span.z ? 1 : 2
        return (axis, span[axis])
    }

    @inline(__always)
    private static func cell(_ color: SIMD4<Int32>) -> Int {
        Int((color.x >> 3) << 10 | (color.y >> 3) << 5 | color.z >> 3)
    }

    @inline(__always)
    private static func middle(_ cell: Int) -> SIMD4<Int32> {
        SIMD4(Int32(cell >> 10) << 3 | 4, Int32(cell >> 5 & 31) << 3 | 4, Int32(cell & 31) << 3 | 4, 0)
    }

    @inline(__always)
    private static func color(_ pixels: PixelBuffer, _ x: Int, _ y: Int) -> SIMD4<Int32> {
        unsafe pixels.withUnsafeBytes { bytes in
            let place = y * pixels.bytesPerRow + x * 4
            return unsafe SIMD4(Int32(bytes[place]), Int32(bytes[place + 1]), Int32(bytes[place + 2]), 0)
        }
    }
}
