/// One frame of the gallery as seen from outside, with the row that each cell shows.
///
/// The grid is uniform, so every cell implies the first row of the frame. A cell is wrong if it implies another first
/// row than most cells do.
struct GalleryFrame {
    private(set) var right = 0, blank = 0, other = 0
    private(set) var wrong: [(row: Int, seen: Int)] = []
    /// The rows of the fully visible cells, or nil if too few images are visible to identify the first row.
    private(set) var rows: Range<Int>?
    let columns: Int
    var visible: Int { right + blank + other + wrong.count }
    var isComplete: Bool { right > 0 && right == visible }

    /// Returns nil if the pixels do not show the grid in the window's size. That happens before the first frame, and
    /// between a resize of the window and the first frame in its new size.
    ///
    /// - Parameter rowCount: the number of rows in the list. Its last line may have fewer cells than the others.
    init?(width: Int, height: Int, rowCount: Int, pixel: (_ x: Int, _ y: Int) -> (Int, Int, Int)) {
        let border = pixel(0, height / 2)
        guard pixel(width - 1, height / 2) == border, pixel(width / 2, height - 1) == border, border != (255, 255, 255),
            let lattice = CellLattice(width: width, height: height, isWhite: { pixel($0, $1) == (255, 255, 255) })
        else { return nil }
        let count = lattice.columns.count
        columns = count
        var cells: [(place: Int, seen: RowImages.Seen)] = []
        for line in lattice.lines {
            for (column, across) in lattice.columns.enumerated() {
                // The selection has its own colour, which is mixed with an image that fades in.
                let isPlain = pixel(across.lowerBound - 2, line.place.lowerBound + 10) == (255, 255, 255)
                let seen = RowImages.read(least: isPlain ? 12 : 100) { x, y in
                    pixel(
                        across.lowerBound + x * across.count / RowImages.side,
                        line.place.lowerBound + y * line.place.count / RowImages.side)
                }
                cells.append((line.index * count + column, seen))
            }
        }
        let read = cells.compactMap { place, seen in
            if case .row(let row) = seen { (place: place, row: row) } else { nil }
        }
        let votes = Dictionary(grouping: read) { $0.row - $0.place }
        let best = votes.max { $0.value.count < $1.value.count }
        let first = best.flatMap { $0.value.count < 2 ? nil : $0.key }
        for (place, seen) in cells where first.map({ $0 + place < rowCount }) ?? true {
            if seen == .placeholder { blank += 1 }
            if seen == .other { other += 1 }
        }
        guard let first, let agreeing = best?.value else {
            // A single image has no other cell to agree with.
            right = read.count
            return
        }
        right = agreeing.count
        wrong = read.filter { $0.row - $0.place != first }.map { (first + $0.place, $0.row) }
        if let last = lattice.lines.last { rows = first..<min(rowCount, first + (last.index + 1) * count) }
    }
}
