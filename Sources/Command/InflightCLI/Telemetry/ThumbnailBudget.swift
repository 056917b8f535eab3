/// Limits the thumbnails that a run makes for its report: the first ones, until a limit is reached. So they take little
/// more time and memory for a million images than for a thousand, and leave space in the page for its lists.
struct ThumbnailBudget: Equatable, Sendable {
    /// The number of thumbnails left.
    var pictures = 1000
    /// The number of bytes left for all thumbnails together. A thumbnail that is being made at the limit is completed.
    var bytes = 600_000
    /// The number of pixels left for files that are decoded only for their thumbnails.
    var pixels = 2_000_000_000
    /// The maximum number of pixels of one such file. Larger files take too long to decode.
    var pixelsOfOne = 16_000_000

    /// Returns whether one more thumbnail is made, and then reserves its slot.
    ///
    /// - Parameter decoding: The number of pixels of the file to decode for it; 0 if the pixels are available already.
    mutating func takes(decoding count: Int) -> Bool {
        guard pictures > 0, bytes > 0, count <= min(pixels, pixelsOfOne) else { return false }
        pictures -= 1
        pixels -= count
        return true
    }

    /// A reserved thumbnail was made, with that many bytes. If `nil`, it failed, and its slot is free again.
    mutating func made(_ count: Int?) {
        if let count { bytes -= count } else { pictures += 1 }
    }
}
