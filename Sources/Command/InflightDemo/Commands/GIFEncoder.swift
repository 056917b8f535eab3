import Inflight

/// Encodes still images as GIF, with the same 252 colours for all images. The library itself only decodes GIF.
enum GIFEncoder {
    /// The levels of red, green and blue in the colour table.
    private static let levels = SIMD4<Int32>(6, 7, 6, 1)

    static func encode(_ pixels: PixelBuffer) -> Bytes {
        let size = [pixels.width, pixels.height].flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
        var bytes = Array("GIF87a".utf8) + size
        // A table of 256 colours, 8 bits deep; no background, square pixels.
        bytes += [0xF7, 0, 0]
        for index in 0..<256 {
            let color = color(min(index, 251))
            bytes += [UInt8(color.x), UInt8(color.y), UInt8(color.z)]
        }
        bytes += [0x2C, 0, 0, 0, 0] + size + [0, 8]
        let codes = codes(of: indices(of: pixels))
        for start in stride(from: 0, to: codes.count, by: 255) {
            let block = codes[start..<min(start + 255, codes.count)]
            bytes.append(UInt8(block.count))
            bytes += block
        }
        return Bytes(bytes + [0, 0x3B])
    }

    private static func color(_ index: Int) -> SIMD4<Int32> {
        let index = Int32(index)
        let level = SIMD4(index / 42, index / 6 % 7, index % 6, 0)
        return level &* 255 / SIMD4(5, 6, 5, 1)
    }

    /// Returns each pixel's index into the table, with error diffusion (Floyd and Steinberg).
    private static func indices(of pixels: PixelBuffer) -> [UInt8] {
        let (width, bytes) = (pixels.width, pixels.bytes.array)
        let white = SIMD4<Int32>(repeating: 255)
        var result: [UInt8] = []
        var below = [SIMD4<Int32>](repeating: .zero, count: width + 2)
        for y in 0..<pixels.height {
            var ahead = SIMD4<Int32>.zero
            var next = [SIMD4<Int32>](repeating: .zero, count: width + 2)
            for x in 0..<width {
                let place = y * pixels.bytesPerRow + x * 4
                let exact = SIMD4(Int32(bytes[place]), Int32(bytes[place + 1]), Int32(bytes[place + 2]), 0)
                let wanted = (exact &+ (ahead &+ below[x + 1]) / SIMD4(repeating: 16))
                    .clamped(lowerBound: .zero, upperBound: white)
                let level = (wanted &* (levels &- 1) &+ 127) / white
                let index = Int(level.x * 42 + level.y * 6 + level.z)
                result.append(UInt8(index))
                let error = wanted &- color(index)
                ahead = error &* 7
                next[x] &+= error &* 3
                next[x + 1] &+= error &* 5
                next[x + 2] &+= error
            }
            below = next
        }
        return result
    }

    /// Returns GIF's variant of LZW: codes that grow from 9 to 12 bits, then start over.
    private static func codes(of indices: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var (pending, count, width) = (0, 0, 9)
        func put(_ code: Int) {
            pending |= code << count
            count += width
            while count >= 8 {
                bytes.append(UInt8(pending & 255))
                pending >>= 8
                count -= 8
            }
        }
        /// The code for a known string and one more byte.
        var known: [Int: Int] = [:]
        put(256)
        var prefix = Int(indices[0])
        for index in indices.dropFirst() {
            let key = prefix << 8 | Int(index)
            if let code = known[key] {
                prefix = code
                continue
            }
            put(prefix)
            let next = 258 + known.count
            if next < 4096 {
                known[key] = next
                if next == 1 << width { width += 1 }
            } else {
                put(256)
                known.removeAll(keepingCapacity: true)
                width = 9
            }
            prefix = Int(index)
        }
        put(prefix)
        put(257)
        return bytes + [UInt8(pending)]
    }
}
