import Foundation
import InflightImages

/// An image whose pixels a function returns: red, green, blue and straight alpha, 0 … 255.
struct Painted: Sendable {
    let width: Int
    let height: Int
    let color: @Sendable (Int, Int) -> (Int, Int, Int, Int)

    init(_ width: Int, _ height: Int, _ color: @escaping @Sendable (Int, Int) -> (Int, Int, Int, Int)) {
        self.width = width
        self.height = height
        self.color = color
    }

    /// The pixels in a format, with padding between the rows.
    func pixels(_ format: PixelBuffer.Format = .rgbx) -> PixelBuffer {
        let bytesPerRow = width * 4 + 8
        var bytes = [UInt8](repeating: 0xAA, count: bytesPerRow * height)
        for y in 0..<height {
            for x in 0..<width {
                let (red, green, blue, alpha) = color(x, y)
                let full = format.alpha == .premultiplied ? alpha : 255
                var colors = [red, green, blue].map { UInt8(($0 * full + 127) / 255) }
                if format.order == .bgra { colors.reverse() }
                let start = y * bytesPerRow + x * 4
                bytes.replaceSubrange(start..<start + 4, with: colors + [format.alpha == .opaque ? 255 : UInt8(alpha)])
            }
        }
        return PixelBuffer(width: width, height: height, bytesPerRow: bytesPerRow, format: format, bytes: Bytes(bytes))
    }

    /// A scene with gradients, an edge and fine lines.
    static func scene(_ width: Int, _ height: Int) -> Painted {
        Painted(width, height) { x, y in
            let isRight = x * 2 > width
            return (x * 255 / width, isRight ? 220 : 40, (x / 3 + y / 2) % 2 * 200, 255 - y * 200 / height)
        }
    }
}

extension PixelBuffer {
    /// Red, green, blue, alpha, whatever the byte order.
    subscript(x: Int, y: Int) -> [Int] {
        let start = y * bytesPerRow + x * 4
        let pixel = (0..<4).map { Int(bytes[start + $0]) }
        return format.order == .rgba ? pixel : [pixel[2], pixel[1], pixel[0], pixel[3]]
    }

    /// The peak signal-to-noise ratio against the pixels of a function, in decibels.
    func psnr(against expected: (Int, Int, Int) -> Double, channels: Range<Int> = 0..<3) -> Double {
        var sum = 0.0
        for y in 0..<height {
            for x in 0..<width {
                let pixel = self[x, y]
                for channel in channels {
                    let off = Double(pixel[channel]) - expected(x, y, channel)
                    sum += off * off
                }
            }
        }
        let mean = sum / Double(width * height * channels.count)
        return mean == 0 ? .infinity : 20 * log10(255 / mean.squareRoot())
    }
}
