package import InflightCore

/// The description of an image without its pixels.
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

    /// The number of bytes that the image needs, or `nil` if no image can have this layout.
    package var byteCount: Int? {
        PixelBuffer.byteCount(width: width, height: height, bytesPerRow: bytesPerRow)
    }

    /// - Precondition: there are at least ``byteCount`` bytes.
    package func pixels(_ bytes: Bytes) -> PixelBuffer {
        PixelBuffer(width: width, height: height, bytesPerRow: bytesPerRow, format: format, bytes: bytes)
    }
}

extension PixelLayout: MessagePart {
    package func write(to message: inout [UInt8]) {
        message.add(width, height, bytesPerRow, format.order, format.alpha)
    }

    package init(from rest: inout ArraySlice<UInt8>) throws(MalformedMessage) {
        self.init(
            width: try rest.take(), height: try rest.take(), bytesPerRow: try rest.take(),
            format: PixelBuffer.Format(order: try rest.take(), alpha: try rest.take()))
    }
}
