package import InflightCore

/// Everything of a picture but its pixels.
package struct PixelLayout: Sendable, Equatable {
    package var width: Int
    package var height: Int
    package var bytesPerRow: Int
    package var format: PixelBuffer.Format

    package init(width: Int, height: Int, bytesPerRow: Int, format: PixelBuffer.Format) {
        self.width = width
        self.height = height
        self.bytesPerRow = bytesPerRow
        self.format = format
    }

    package init(_ pixels: PixelBuffer) {
        self.init(
            width: pixels.width, height: pixels.height, bytesPerRow: pixels.bytesPerRow, format: pixels.format)
    }

    /// How much memory it needs; `nil` where no picture could have it.
    package var byteCount: Int? {
        PixelBuffer.byteCount(width: width, height: height, bytesPerRow: bytesPerRow)
    }

    /// - Precondition: there are at least ``byteCount`` bytes.
    package func pixels(_ bytes: Bytes) -> PixelBuffer {
        PixelBuffer(width: width, height: height, bytesPerRow: bytesPerRow, format: format, bytes: bytes)
    }
}

extension MessageWriter {
    mutating func write(_ layout: PixelLayout) {
        write(layout.width)
        write(layout.height)
        write(layout.bytesPerRow)
        write(layout.format.order.rawValue)
        write(layout.format.alpha.rawValue)
    }
}

extension MessageReader {
    mutating func layout() -> PixelLayout? {
        guard let width = number(), let height = number(), let bytesPerRow = number(),
            let order = byte().flatMap(PixelBuffer.Format.Order.init),
            let alpha = byte().flatMap(PixelBuffer.Format.Alpha.init)
        else { return nil }
        return PixelLayout(
            width: width, height: height, bytesPerRow: bytesPerRow, format: .init(order: order, alpha: alpha))
    }
}
