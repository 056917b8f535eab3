import Inflight
import InflightTestSupport

/// Images that encode their row's number, with a bit in each of 16 squares from the top left. A square is red or green.
/// Blue is the same in all squares, and occurs nowhere else.
enum RowImages {
    static let side = 64

    static func pixels(_ row: Int) -> PixelBuffer {
        var bytes = [UInt8]()
        bytes.reserveCapacity(side * side * 4)
        for y in 0..<side {
            for x in 0..<side {
                let bit = row >> (y / 16 * 4 + x / 16) & 1 == 1
                bytes += bit ? [220, 30, 200, 255] : [30, 220, 200, 255]
            }
        }
        return PixelBuffer(width: side, height: side, bytesPerRow: side * 4, format: .rgbx, bytes: Bytes(bytes))
    }

    static func png(_ row: Int) -> Bytes {
        // Our own pixels are always a valid image.
        try! ImagePipeline.Configuration().codecs.encode(pixels(row), options: EncodeOptions(format: .png))
    }

    enum Seen: Hashable {
        case row(Int)
        /// A single colour.
        case placeholder
        /// Anything that is not the complete image of a row.
        case other
    }

    /// Returns the content of one cell, by the centres of its squares.
    /// - Parameters:
    ///   - least: the minimum difference between red and green in a square that counts.
    ///   - pixel: returns (red, green, blue) at a position in the cell, from 0 to 63 on each axis, or nil.
    static func read(least: Int = 12, _ pixel: (_ x: Int, _ y: Int) -> (Int, Int, Int)?) -> Seen {
        var row = 0, blanks = 0
        for square in 0..<16 {
            guard let (red, green, _) = pixel(square % 4 * 16 + 8, square / 4 * 16 + 8) else { return .other }
            // While an image fades in, its colours are weak, but already red or green.
            if abs(red - green) < least {
                blanks += 1
            } else if red > green {
                row |= 1 << square
            }
        }
        if blanks == 16 { return .placeholder }
        return blanks == 0 ? .row(row) : .other
    }
}
