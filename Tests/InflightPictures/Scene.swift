package import InflightCore

/// The image in the fixtures, as a formula, with which decoded pixels are compared.
package enum Scene {
    package static let width = 16
    package static let height = 12

    package static func color(_ x: Int, _ y: Int) -> SIMD4<UInt8> {
        SIMD4(UInt8(15 * x + 10), UInt8(20 * y + 5), UInt8(8 * (x + y) + 20), 255)
    }

    /// Returns the stored pixel displayed at `x`, `y`, by the table of CIPA DC-008, which states on which displayed
    /// sides the first stored row and column are.
    package static func stored(
        _ orientation: ImageInfo.Orientation, _ x: Int, _ y: Int, width: Int = Scene.width, height: Int = Scene.height
    ) -> (Int, Int) {
        let (right, bottom) = (width - 1, height - 1)
        return switch orientation {
        case .up: (x, y)
        case .upMirrored: (right - x, y)
        case .down: (right - x, bottom - y)
        case .downMirrored: (x, bottom - y)
        case .leftMirrored: (y, x)
        case .right: (y, bottom - x)
        case .rightMirrored: (right - y, bottom - x)
        case .left: (right - y, x)
        }
    }

    package static func withAlpha(_ x: Int, _ y: Int) -> SIMD4<UInt8> {
        var pixel = color(x, y)
        pixel[3] = x < 4 ? 0 : x < 8 ? 128 : 255
        return pixel
    }

    /// The first frame of the animations on their canvas.
    package static func firstFrame(_ x: Int, _ y: Int) -> SIMD4<UInt8> {
        (4..<14).contains(x) && (2..<10).contains(y) ? color(x, y) : .zero
    }

    package static func firstPixelTransparent(_ x: Int, _ y: Int) -> SIMD4<UInt8> {
        x == 0 && y == 0 ? .zero : color(x, y)
    }

    package static func gray(_ x: Int, _ y: Int) -> SIMD4<UInt8> {
        let pixel = color(x, y)
        let level = 0.299 * Double(pixel[0]) + 0.587 * Double(pixel[1]) + 0.114 * Double(pixel[2])
        let byte = UInt8(level.rounded())
        return SIMD4(byte, byte, byte, 255)
    }

    package static func checkered(_ x: Int, _ y: Int) -> SIMD4<UInt8> {
        let byte: UInt8 = (x + y) % 2 == 0 ? 0 : 255
        return SIMD4(byte, byte, byte, 255)
    }
}

extension PixelBuffer {
    package init(
        width: Int, height: Int, format: Format = .rgba, _ pixel: (Int, Int) -> SIMD4<UInt8>
    ) {
        self = unsafe PixelBuffer(width: width, height: height, format: format) { memory in
            for y in 0..<height {
                for x in 0..<width {
                    unsafe memory.storeBytes(
                        of: pixel(x, y), toByteOffset: (y * width + x) * 4, as: SIMD4<UInt8>.self)
                }
            }
        }
    }

    package subscript(x: Int, y: Int) -> SIMD4<UInt8> {
        let offset = y * bytesPerRow + x * 4
        return SIMD4(bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3])
    }

    /// Returns the similarity to `pixel` in decibels, colours weighted by alpha; 100 if nothing differs.
    package func psnr(_ pixel: (Int, Int) -> SIMD4<UInt8>) -> Double {
        var sum = 0.0
        for y in 0..<height {
            for x in 0..<width {
                let (left, right) = (self[x, y], pixel(x, y))
                for channel in 0..<4 {
                    let leftScale = channel < 3 ? Double(left[3]) / 255 : 1
                    let rightScale = channel < 3 ? Double(right[3]) / 255 : 1
                    let difference = Double(left[channel]) * leftScale - Double(right[channel]) * rightScale
                    sum += difference * difference
                }
            }
        }
        return Decibels.psnr(squares: sum, count: width * height * 4)
    }
}
