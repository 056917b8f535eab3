/// The positions of cells in a window: a lattice of rectangles that are not white, separated by white.
///
/// The cells of a uniform grid form columns and lines. Most pixels across a column's width are not white. A gap has few
/// such pixels, which belong to a scrollbar or to the selection mark.
struct CellLattice {
    /// The horizontal ranges of the columns, and the vertical ranges of the fully visible lines.
    private(set) var columns: [Range<Int>] = []
    private(set) var lines: [(index: Int, place: Range<Int>)] = []

    /// A vertical position in the window's header, and one below it.
    private static let header = 40, top = 56
    private static let smallest = 30

    /// Returns nil if there is no lattice.
    init?(width: Int, height: Int, isWhite: (_ x: Int, _ y: Int) -> Bool) {
        guard height > Self.top + 100, width > 100 else { return nil }
        let samples = stride(from: Self.top, to: height - 10, by: 27)
        let across = Self.runs(in: 4..<width - 4) { x in Self.most(of: samples) { !isWhite(x, $0) } }
        guard let columns = Self.lattice(of: across, tolerance: width) else { return nil }
        self.columns = columns.map(\.place)
        let middles = self.columns.map { $0.lowerBound + $0.count / 2 }
        let down = Self.runs(in: Self.header..<height) { y in Self.most(of: middles) { !isWhite($0, y) } }
        // The run of a line that the header covers in part begins at the header.
        let free = down.filter { $0.lowerBound > Self.header }
        guard let lines = Self.lattice(of: free, tolerance: 1) else { return nil }
        self.lines = lines
    }

    private static func most<Places: Sequence<Int>>(of places: Places, _ holds: (Int) -> Bool) -> Bool {
        var (count, all) = (0, 0)
        for place in places {
            all += 1
            if holds(place) { count += 1 }
        }
        return count * 2 > all
    }

    private static func runs(in places: Range<Int>, _ isCell: (Int) -> Bool) -> [Range<Int>] {
        var (runs, began) = ([Range<Int>](), Int?.none)
        for place in places {
            if isCell(place) {
                began = began ?? place
            } else if let start = began {
                runs.append(start..<place)
                began = nil
            }
        }
        if let start = began { runs.append(start..<places.upperBound) }
        return runs.filter { $0.count >= smallest }
    }

    /// Returns the runs of the usual length (the median), each with its index. Longer runs, whose end is covered by
    /// something, are cut to that length. Shorter runs are left out.
    private static func lattice(of runs: [Range<Int>], tolerance: Int) -> [(index: Int, place: Range<Int>)]? {
        guard runs.count >= 2 else { return nil }
        let length = runs.map(\.count).sorted()[(runs.count - 1) / 2]
        let whole = runs.filter { $0.count >= length - 1 && $0.count <= length + tolerance }
        let steps = zip(whole.dropFirst(), whole).map { $0.lowerBound - $1.lowerBound }.sorted()
        guard let first = whole.first, let step = steps.first else { return nil }
        return whole.map { run in
            let index = (run.lowerBound - first.lowerBound + step / 2) / step
            return (index, run.lowerBound..<run.lowerBound + min(length, run.count))
        }
    }
}
