/// One frame of the gallery as it is seen from outside: which row each cell shows.
///
/// The grid is uniform, so all cells of a frame agree on one row that stands at its beginning; a cell that shows another
/// row than that says is wrong.
struct GalleryFrame {
    private(set) var right = 0, blank = 0, other = 0
    private(set) var wrong: [(row: Int, seen: Int)] = []
    /// The rows of the cells that are seen whole; none where too few pictures are seen to tell.
    private(set) var rows: Range<Int>?
    let columns: Int
    var visible: Int { right + blank + other + wrong.count }
    var isComplete: Bool { right > 0 && right == visible }

    /// None where what is seen is not the grid as large as the window: before the first frame, and between a resize of
    /// the window and the first frame in its new size.
    init?(width: Int, height: Int, pixel: (_ x: Int, _ y: Int) -> (Int, Int, Int)) {
        let border = pixel(0, height / 2)
        guard pixel(width - 1, height / 2) == border, pixel(width / 2, height - 1) == border, border != (255, 255, 255),
            let lattice = CellLattice(width: width, height: height, isWhite: { pixel($0, $1) == (255, 255, 255) })
        else { return nil }
        let count = lattice.columns.count
        columns = count
        var read: [(place: Int, row: Int)] = []
        for line in lattice.lines {
            for (column, across) in lattice.columns.enumerated() {
                // What is selected has a colour of its own, which a picture that appears is mixed with.
                let isPlain = pixel(across.lowerBound - 2, line.place.lowerBound + 10) == (255, 255, 255)
                let seen = RowPictures.read(least: isPlain ? 12 : 100) { x, y in
                    pixel(
                        across.lowerBound + x * across.count / RowPictures.side,
                        line.place.lowerBound + y * line.place.count / RowPictures.side)
                }
                switch seen {
                case .row(let row): read.append((line.index * count + column, row))
                case .placeholder: blank += 1
                case .other: other += 1
                }
            }
        }
        let votes = Dictionary(grouping: read) { $0.row - $0.place }
        guard let (first, agreeing) = votes.max(by: { $0.value.count < $1.value.count }), agreeing.count >= 2 else {
            // One picture alone agrees with itself.
            right += read.count
            return
        }
        right = agreeing.count
        wrong = read.filter { $0.row - $0.place != first }.map { (first + $0.place, $0.row) }
        if let last = lattice.lines.last { rows = first..<first + (last.index + 1) * count }
    }
}
