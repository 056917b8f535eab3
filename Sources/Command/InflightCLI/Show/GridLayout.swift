/// Where pictures stand in a window: one takes all of it, several stand in a grid, each with a line of text below.
struct GridLayout: Equatable, Sendable {
    /// Pictures beside one another.
    private(set) var across: Int
    /// The most that one takes, in cells of the terminal.
    private(set) var columns: Int
    private(set) var rows: Int
    /// Whether there is a line of text below each.
    private(set) var hasCaptions: Bool

    /// Columns that stay free between two.
    static let gap = 2
    /// Narrower ones are made by nobody but who asks for them.
    private static let leastColumns = 24
    /// Pictures become no lower than this to have room for all of them in the window: it scrolls instead.
    private static let leastRows = 6

    /// - Parameters:
    ///   - count: how many pictures there are.
    ///   - size: the most that each may take, where somebody has said so; never more than the window.
    ///   - across: how many beside one another, where somebody has said so.
    init(count: Int, window: TerminalWindow, size: OptionValue.Sides = .init(), across wanted: Int? = nil) {
        let count = max(1, count)
        hasCaptions = count > 1
        // A line is kept for the prompt, where there is more than one.
        let room = max(1, window.rows - 1)
        let most = max(1, (window.columns + Self.gap) / (1 + Self.gap))
        if let wanted {
            across = min(wanted, most, count)
        } else {
            let width = min(size.width ?? Self.leastColumns, window.columns)
            let fitting = min(count, max(1, (window.columns + Self.gap) / (width + Self.gap)))
            // As many in the last line as in the others, or nearly so.
            let lines = (count + fitting - 1) / fitting
            across = size.width == nil ? (count + lines - 1) / lines : fitting
        }
        let widest = max(1, (window.columns - (across - 1) * Self.gap) / across)
        columns = min(size.width ?? widest, widest)
        guard hasCaptions else {
            rows = min(size.height ?? room, room)
            return
        }
        let lines = (count + across - 1) / across
        let highest = max(1, room - 1)
        // Square, as cells are twice as high as wide, unless all of them fit into the window with less.
        let square = max(1, min(columns / 2, highest))
        let fitting = (room - (lines - 1)) / lines - 1
        rows = min(size.height ?? (fitting >= Self.leastRows ? min(square, fitting) : square), highest)
    }

    /// Where the picture begins, in columns from the left.
    func start(of index: Int) -> Int { index % across * (columns + Self.gap) }

    /// The lines of pictures, each as the range of their numbers.
    func bands(count: Int) -> [Range<Int>] {
        stride(from: 0, to: count, by: across).map { $0..<min(count, $0 + across) }
    }
}
