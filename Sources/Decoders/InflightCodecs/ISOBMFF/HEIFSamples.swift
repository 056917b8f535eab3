import InflightImages

/// The depth of an image's samples, and whether they are grey.
struct HEIFSamples {
    private(set) var bits = 8
    private(set) var isGray = false

    init() {}

    /// The codec's own header takes precedence over `pixi`, and the tiles of a grid describe its samples.
    init(_ image: HEIFImage, _ bytes: Bytes) {
        for box in image.parts[0].properties where box.has("pixi", bytes) && box.content.count >= 6 {
            bits = min(max(1, bytes.byte(at: box.content.lowerBound + 5) ?? 8), 16)
            break
        }
        for box in image.coded.properties { read(box, bytes) }
    }

    /// Reads the sample depth from a codec's own header.
    private mutating func read(_ box: HEIFBox, _ bytes: Bytes) {
        let start = box.content.lowerBound
        if box.has("av1C", bytes), box.content.count >= 4, let flags = bytes.byte(at: start + 2) {
            bits = flags & 0x40 == 0 ? 8 : flags & 0x20 == 0 ? 10 : 12
            isGray = flags & 0x10 != 0
        } else if box.has("hvcC", bytes), box.content.count >= 23, let chroma = bytes.byte(at: start + 16),
            let luma = bytes.byte(at: start + 17)
        {
            bits = 8 + (luma & 7)
            isGray = chroma & 3 == 0
        }
    }

    /// Returns the size that an image declares, if any.
    static func size(_ part: HEIFImage.Part, _ bytes: Bytes) -> (width: Int, height: Int)? {
        for box in part.properties where box.has("ispe", bytes) && box.content.count >= 12 {
            guard let width = bytes.big32(at: box.content.lowerBound + 4),
                let height = bytes.big32(at: box.content.lowerBound + 8)
            else { return nil }
            return (width, height)
        }
        return nil
    }
}

/// The part of a decoded image that is shown, before it is rotated.
package struct HEIFCrop: Equatable {
    package private(set) var left = 0
    package private(set) var top = 0
    package private(set) var width = 0
    package private(set) var height = 0

    init() {}

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Reads a clean aperture (ISO/IEC 14496-12 section 12.1.4), whose numbers are fractions. Its place is rounded down
    /// to whole pixels. Returns nil if its size is not whole, or if it is not inside the image.
    init?(_ box: HEIFBox, _ bytes: Bytes, of whole: HEIFCrop) {
        guard box.content.count >= 32 else { return nil }
        let numbers = (0..<8).map { bytes.big32(at: box.content.lowerBound + 4 * $0) ?? 0 }
        guard let width = Self.quotient(numbers[0], numbers[1]), let height = Self.quotient(numbers[2], numbers[3]),
            let left = Self.place(width, in: whole.width, numbers[4], numbers[5]),
            let top = Self.place(height, in: whole.height, numbers[6], numbers[7])
        else { return nil }
        (self.width, self.height, self.left, self.top) = (width, height, left, top)
    }

    private static func quotient(_ number: Int, _ divisor: Int) -> Int? {
        divisor > 0 && number > 0 && number % divisor == 0 ? number / divisor : nil
    }

    /// - Parameter number: the signed 32-bit distance of the centres, times `divisor`.
    private static func place(_ length: Int, in whole: Int, _ number: Int, _ divisor: Int) -> Int? {
        guard divisor > 0, divisor < 1 << 30, length <= whole else { return nil }
        let distance = Int(Int32(truncatingIfNeeded: number))
        let doubled = (whole - length) * divisor + 2 * distance
        guard doubled >= 0 else { return nil }
        let place = doubled / (2 * divisor)
        return place <= whole - length ? place : nil
    }
}
