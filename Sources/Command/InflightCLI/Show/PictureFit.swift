/// How large a picture becomes on the terminal.
struct PictureFit: Equatable, Sendable {
    /// What the picture is resized to.
    private(set) var width: Int
    private(set) var height: Int
    /// Cells of the terminal that it takes.
    private(set) var columns: Int
    private(set) var rows: Int

    /// What one cell of the terminal shows.
    struct Raster: Equatable, Sendable {
        /// Pixels in a cell.
        var across: Int
        var down: Int
        /// The height of a pixel beside its width.
        var aspect: Double

        /// A cell whose pixels are the terminal's own.
        static func pixels(_ cell: TerminalWindow.Cell) -> Raster {
            Raster(across: cell.width, down: cell.height, aspect: 1)
        }

        /// Two pixels in a cell, one over the other.
        static func halfBlocks(_ cell: TerminalWindow.Cell?) -> Raster {
            Raster(across: 1, down: 2, aspect: shape(cell) / 2)
        }

        /// A cell as one pixel.
        static func letters(_ cell: TerminalWindow.Cell?) -> Raster {
            Raster(across: 1, down: 1, aspect: shape(cell))
        }

        private static func shape(_ cell: TerminalWindow.Cell?) -> Double {
            let cell = cell ?? .usual
            return Double(cell.height) / Double(cell.width)
        }
    }

    /// The whole picture, inside of a box of cells, in its own shape as far as whole pixels allow it.
    ///
    /// - Parameter enlarges: whether it may have more pixels than it has.
    init(width sourceWidth: Int, height sourceHeight: Int, in layout: GridLayout, raster: Raster, enlarges: Bool) {
        self.init(
            width: sourceWidth, height: sourceHeight, columns: layout.columns, rows: layout.rows, raster: raster,
            enlarges: enlarges)
    }

    init(
        width sourceWidth: Int, height sourceHeight: Int, columns: Int, rows: Int, raster: Raster, enlarges: Bool
    ) {
        let source = (width: Double(max(1, sourceWidth)), height: Double(max(1, sourceHeight)))
        let box = (width: columns * raster.across, height: rows * raster.down)
        var scale = min(
            Double(box.width) / source.width, Double(box.height) * raster.aspect / source.height)
        // Neither side gets more pixels than there are.
        if !enlarges { scale = min(scale, 1, raster.aspect) }
        width = min(box.width, max(1, Int((source.width * scale).rounded())))
        height = min(box.height, max(1, Int((source.height * scale / raster.aspect).rounded())))
        self.columns = (width + raster.across - 1) / raster.across
        self.rows = (height + raster.down - 1) / raster.down
    }
}
