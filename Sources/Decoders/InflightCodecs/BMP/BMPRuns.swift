import InflightImages

/// Decodes run-length encoded pixels (Microsoft: Bitmap Compression, `BI_RLE8` and `BI_RLE4`) to indices with
/// positions, row by row as stored. Like browsers, it ignores pixels beyond the end of a row or of the image. It omits
/// skipped pixels.
struct BMPRuns {
    let bytes: Bytes
    let structure: BMPStructure
    private var position: Int

    init(bytes: Bytes, structure: BMPStructure) {
        self.bytes = bytes
        self.structure = structure
        position = structure.pixelStart
    }

    /// - Parameters:
    ///   - check: called at least once per some hundred thousand pixels; may throw.
    ///   - pixel: called with column, stored row, and index.
    mutating func read(check: () throws(LoadError) -> Void, pixel: (Int, Int, UInt8) -> Void) throws(LoadError) {
        let (width, height) = (structure.width, structure.height)
        let isWide = structure.bits == 8
        // The upper half of a byte is the first pixel.
        func color(_ byte: UInt8, _ index: Int) -> UInt8 {
            isWide ? byte : index % 2 == 0 ? byte >> 4 : byte & 15
        }
        var (x, y) = (0, 0)
        var turns = 0
        while y < height {
            turns += 1
            if turns % 1024 == 0 { try check() }
            guard let count = bytes.byte(at: position), let value = bytes.byte(at: position + 1) else {
                // The last row may lack its end marker.
                if y == height - 1, x >= width { return }
                throw CodecError.truncated(.bmp)
            }
            position += 2
            switch (count, value) {
            case (0, 0): (x, y) = (0, y + 1)
            case (0, 1): return
            case (0, 2):
                guard let right = bytes.byte(at: position), let down = bytes.byte(at: position + 1) else {
                    throw CodecError.truncated(.bmp)
                }
                position += 2
                x = min(width, x + right)
                y += down
            case (0, _):
                let length = isWide ? value : (value + 1) / 2
                guard bytes.count - position >= length else { throw CodecError.truncated(.bmp) }
                for index in 0..<value where x + index < width {
                    pixel(x + index, y, color(bytes[position + (isWide ? index : index / 2)], index))
                }
                x = min(width, x + value)
                // Advances to the next even offset.
                position += length + length % 2
            default:
                for index in 0..<count where x + index < width {
                    pixel(x + index, y, color(UInt8(value), index))
                }
                x = min(width, x + count)
            }
        }
    }
}
