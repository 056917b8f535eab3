/// The size of an image on the terminal.
struct ImageFit: Equatable, Sendable {
    /// The size in pixels that the image is resized to.
    private(set) var width: Int
    private(set) var height: Int
    /// The size in terminal cells.
    private(set) var columns: Int
    private(set) var rows: Int

    /// The pixels of one terminal cell.
    struct Raster: Equatable, Sendable {
        /// The number of pixels in a cell.
        var across: Int
        var down: Int
        /// The height of a pixel relative to its width.
        var aspect: Double

        /// A cell with the terminal's own pixels.
        static func pixels(_ cell: TerminalWindow.Cell) -> Raster {
            Raster(across: cell.width, down: cell.height, aspect: 1)
        }

        /// A cell with two pixels, one above the other.
        static func halfBlocks(_ cell: TerminalWindow.Cell?) -> Raster {
            Raster(across: 1, down: 2, aspect: shape(cell) / 2)
        }

        /// A cell as one pixel.
        static func letters(_ cell: TerminalWindow.Cell?) -> Raster {
            Raster(across: 1, down: 1, aspect: shape(cell))
        }

        private static func shape(_ cell: TerminalWindow.Cell?) -> Double {
            let cell = cell ?? .fallback
            return Double(cell.height) / Double(cell.width)
        }
    }

    /// Fits the whole image into a box of cells, with its aspect ratio as far as whole pixels allow.
    ///
    /// - Parameter enlarges: Whether it may get more pixels than the source has.
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
        // Neither side gets more pixels than the source has.
        if !enlarges { scale = min(scale, 1, raster.aspect) }
        width = min(box.width, max(1, Int((source.width * scale).rounded())))
        height = min(box.height, max(1, Int((source.height * scale / raster.aspect).rounded())))
        self.columns = (width + raster.across - 1) / raster.across
        self.rows = (height + raster.down - 1) / raster.down
    }
}
