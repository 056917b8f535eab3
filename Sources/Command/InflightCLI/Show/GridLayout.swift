/// The positions of images in a window: a single image takes all of it, and several form a grid, each with a line of
/// text below.
struct GridLayout: Equatable, Sendable {
    /// The number of images side by side.
    private(set) var across: Int
    /// The maximum size of an image, in terminal cells.
    private(set) var columns: Int
    private(set) var rows: Int
    /// Whether there is a line of text below each image.
    private(set) var hasCaptions: Bool

    /// The number of free columns between two images.
    static let gap = 2
    /// Narrower images are drawn only on request.
    private static let leastColumns = 24
    /// The minimum height to which images are reduced to fit the whole grid into the window. A grid that would need
    /// lower images scrolls instead.
    private static let leastRows = 6

    /// - Parameters:
    ///   - count: The number of images.
    ///   - size: The requested maximum size of each; never more than the window.
    ///   - across: The requested number of images side by side.
    init(count: Int, window: TerminalWindow, size: OptionValue.Sides = .init(), across wanted: Int? = nil) {
        let count = max(1, count)
        hasCaptions = count > 1
        // One line is left for the prompt, if there is more than one.
        let room = max(1, window.rows - 1)
        let most = max(1, (window.columns + Self.gap) / (1 + Self.gap))
        if let wanted {
            across = min(wanted, most, count)
        } else {
            let width = min(size.width ?? Self.leastColumns, window.columns)
            let fitting = min(count, max(1, (window.columns + Self.gap) / (width + Self.gap)))
            // Balances the lines, so that the last has as many images as the others, or nearly as many.
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
        // Square, as cells are twice as high as wide, or lower if the whole grid then fits into the window.
        let square = max(1, min(columns / 2, highest))
        let fitting = (room - (lines - 1)) / lines - 1
        rows = min(size.height ?? (fitting >= Self.leastRows ? min(square, fitting) : square), highest)
    }

    /// Returns the column in which the image begins, counted from the left.
    func start(of index: Int) -> Int { index % across * (columns + Self.gap) }

    /// Returns the lines of images, each as the range of their numbers.
    func bands(count: Int) -> [Range<Int>] {
        stride(from: 0, to: count, by: across).map { $0..<min(count, $0 + across) }
    }
}
