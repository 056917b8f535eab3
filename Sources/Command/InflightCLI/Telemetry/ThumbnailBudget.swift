/// How many small pictures a run makes for its report: the first ones, until one of these is used up. So a run of a million
/// pictures takes little more time and memory for them than one of a thousand, and the page has room for what is listed.
struct ThumbnailBudget: Equatable, Sendable {
    /// Small pictures of one run.
    var pictures = 1000
    /// Their bytes together. What is being made when they are used up is made.
    var bytes = 600_000
    /// Pixels of files that are decoded for their small pictures alone.
    var pixels = 2_000_000_000
    /// One file has at most these: what has more costs more than a glance at it is worth.
    var pixelsOfOne = 16_000_000

    /// Whether one more is made; then its place is taken.
    ///
    /// - Parameter decoding: the pixels of the file that has to be decoded for it; 0 where they are there already.
    mutating func takes(decoding count: Int) -> Bool {
        guard pictures > 0, bytes > 0, count <= min(pixels, pixelsOfOne) else { return false }
        pictures -= 1
        pixels -= count
        return true
    }

    /// One that has taken its place is made, of so many bytes; `nil`: nothing came of it, and another may have the place.
    mutating func made(_ count: Int?) {
        if let count { bytes -= count } else { pictures += 1 }
    }
}
