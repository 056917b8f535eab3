import Inflight
import InflightTestSupport

/// Pictures that say their row's number: a bit in each of 16 squares, from the top left. A square is red or green; blue is
/// the same in all, and in nothing else.
enum RowPictures {
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
        // Pixels of ours are a valid picture.
        try! ImagePipeline.Configuration().codecs.encode(pixels(row), options: EncodeOptions(format: .png))
    }

    enum Seen: Hashable {
        case row(Int)
        /// Nothing but one colour.
        case placeholder
        /// Something that is no row's whole picture.
        case other
    }

    /// What one cell shows, by the middles of its squares.
    /// - Parameters:
    ///   - least: how far red and green lie apart in a square that counts.
    ///   - pixel: gives (red, green, blue) at a place in the cell, of 64 each way.
    static func read(least: Int = 12, _ pixel: (_ x: Int, _ y: Int) -> (Int, Int, Int)?) -> Seen {
        var row = 0, blanks = 0
        for square in 0..<16 {
            guard let (red, green, _) = pixel(square % 4 * 16 + 8, square / 4 * 16 + 8) else { return .other }
            // While a picture appears, its colours are weak and on the right side already.
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
