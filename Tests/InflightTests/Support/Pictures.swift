import Inflight
import InflightCodecs

/// Images for tests, generated here so that their content is known.
enum Pictures {
    static let codecs = CodecRegistry(Codecs.standard)

    /// A smooth gradient, red from left to right and green from top to bottom.
    static func gradient(width: Int, height: Int) -> PixelBuffer {
        unsafe PixelBuffer(width: width, height: height, format: .rgbx) { memory in
            for y in 0..<height {
                for x in 0..<width {
                    let base = (y * width + x) * 4
                    unsafe memory[base] = UInt8(x * 255 / max(1, width - 1))
                    unsafe memory[base + 1] = UInt8(y * 255 / max(1, height - 1))
                    unsafe memory[base + 2] = 128
                    unsafe memory[base + 3] = 255
                }
            }
        }
    }

    /// The gradient with some noise, so that it takes about one byte per pixel.
    static func grained(width: Int, height: Int) -> PixelBuffer {
        let smooth = gradient(width: width, height: height)
        return unsafe PixelBuffer(width: width, height: height, format: .rgbx) { memory in
            unsafe smooth.withUnsafeBytes { unsafe memory.copyMemory(from: $0) }
            var state: UInt32 = 1
            for index in 0..<width * height {
                state = state &* 1_664_525 &+ 1_013_904_223
                unsafe memory[index * 4 + 2] = 100 + UInt8(state >> 27)
            }
        }
    }

    static func jpeg(width: Int = 64, height: Int = 48) throws -> Bytes {
        try codecs.encode(gradient(width: width, height: height), options: EncodeOptions(format: .jpeg))
    }

    static func png(width: Int = 64, height: Int = 48) throws -> Bytes {
        try codecs.encode(gradient(width: width, height: height), options: EncodeOptions(format: .png))
    }
}
