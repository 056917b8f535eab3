import Glibc
import Testing

@testable import InflightCLI

/// Positions and sizes of images in a grid.
@Suite(.timeLimit(.minutes(10)))
struct GridLayoutTests {
    private let window = TerminalWindow(columns: 80, rows: 24)

    @Test("One image takes the whole window except for a prompt line")
    func one() {
        let layout = GridLayout(count: 1, window: window)
        #expect(layout.columns == 80 && layout.rows == 23 && layout.across == 1 && !layout.hasCaptions)
    }

    @Test(
        "Several images form a captioned grid with rows of nearly equal length",
        arguments: [(2, 2), (3, 3), (4, 2), (5, 3), (6, 3), (7, 3), (100, 3)])
    func several(_ count: Int, _ across: Int) {
        let layout = GridLayout(count: count, window: window)
        #expect(layout.across == across)
        #expect(layout.hasCaptions)
        #expect(layout.across * layout.columns + (layout.across - 1) * GridLayout.gap <= 80)
    }

    @Test("All images fit into the window if they stay large enough; otherwise it scrolls")
    func height() {
        let four = GridLayout(count: 4, window: window)
        // Two rows of images, a caption under each, one empty line, and the prompt.
        #expect(2 * (four.rows + 1) + 1 <= 23)
        let many = GridLayout(count: 40, window: window)
        #expect(many.rows == many.columns / 2)
    }

    @Test(
        "A window of any size has a cell for each image inside it",
        arguments: [1, 2, 3, 5, 25, 200, 100_000], [1, 2, 3, 24, 100_000])
    func anyWindow(_ columns: Int, _ rows: Int) {
        let window = TerminalWindow(columns: columns, rows: rows)
        for count in [0, 1, 2, 5, 1000] {
            for across in [nil, 1, 3, 1000] {
                for side in [nil, 1, 7, 65_535] {
                    let layout = GridLayout(
                        count: count, window: window, size: OptionValue.Sides(width: side, height: side), across: across
                    )
                    #expect(layout.columns >= 1 && layout.rows >= 1 && layout.across >= 1)
                    let end = layout.start(of: layout.across - 1) + layout.columns
                    #expect(end <= window.columns, "\(count) \(across ?? 0) \(side ?? 0)")
                    #expect(layout.rows <= max(1, window.rows - 1))
                    #expect(layout.bands(count: count).flatMap(\.self) == Array(0..<count))
                }
            }
        }
    }

    @Test("A requested size and column count apply within the window")
    func asked() {
        let layout = GridLayout(
            count: 5, window: window, size: OptionValue.Sides(width: 10, height: 4), across: 2)
        #expect(layout.across == 2 && layout.columns == 10 && layout.rows == 4)
        #expect(GridLayout(count: 5, window: window, size: OptionValue.Sides(width: 10)).across == 5)
    }

    @Test("Missing or implausible window and cell sizes are replaced by defaults")
    func unknown() {
        #expect(TerminalWindow(.init()) == .fallback)
        #expect(TerminalWindow(.init(), told: (100, 30)) == TerminalWindow(columns: 100, rows: 30))
        let strange = TerminalWindow(.init(ws_row: 50, ws_col: 100, ws_xpixel: 1, ws_ypixel: 65_535))
        #expect(strange == TerminalWindow(columns: 100, rows: 50))
        let known = TerminalWindow(.init(ws_row: 50, ws_col: 100, ws_xpixel: 805, ws_ypixel: 850))
        #expect(known.cell == TerminalWindow.Cell(width: 8, height: 17))
    }

    private func fit(
        _ width: Int, _ height: Int, _ raster: ImageFit.Raster, enlarges: Bool = false
    ) -> ImageFit {
        ImageFit(width: width, height: height, columns: 80, rows: 23, raster: raster, enlarges: enlarges)
    }

    @Test("An image keeps its aspect ratio, fills one side of its box and is not enlarged by default")
    func fitting() {
        let blocks = ImageFit.Raster.halfBlocks(nil)
        let wide = fit(800, 200, blocks)
        #expect((wide.width, wide.height, wide.columns, wide.rows) == (80, 20, 80, 10))
        let tall = fit(100, 1000, blocks)
        #expect((tall.width, tall.height, tall.columns, tall.rows) == (5, 46, 5, 23))
        let small = fit(7, 5, blocks)
        #expect((small.width, small.height, small.columns, small.rows) == (7, 5, 7, 3))
        let large = fit(7, 5, blocks, enlarges: true)
        #expect((large.width, large.height) == (64, 46))
        let thin = fit(100_000, 1, blocks)
        #expect((thin.width, thin.height, thin.rows) == (80, 1, 1))
    }

    @Test("Images are corrected for the cell aspect ratio, and no side is enlarged")
    func aspect() throws {
        let high = try #require(TerminalWindow.Cell(width: 10, height: 25))
        let wide = try #require(TerminalWindow.Cell(width: 10, height: 15))
        // Each half of a cell is 10 × 12.5 or 10 × 7.5 pixels.
        #expect(fit(40, 40, .halfBlocks(high)).height == 32)
        let low = fit(40, 40, .halfBlocks(wide))
        #expect(low.width == 30 && low.height == 40)
        #expect(fit(40, 40, .letters(nil)).height == 20)
        let pixels = fit(1600, 100, .pixels(high))
        #expect((pixels.width, pixels.height, pixels.columns, pixels.rows) == (800, 50, 80, 2))
    }
}
