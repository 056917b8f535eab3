/// Checks the evaluation of gallery frames on pixels that are drawn here.
@MainActor
func frameParts(_ harness: Harness) {
    harness.part("wrong and blank cells of a frame are found at every scroll offset") { harness in
        for scrolled in [0, 20, 33, 64, 69] {
            let right = DrawnWindow(first: 104, scrolled: scrolled).frame
            harness.expect(right?.wrong.isEmpty == true && right?.isComplete == true, "\(scrolled): \(right as Any)")
            harness.expect((right?.right ?? 0) >= 13 * 8, "\(scrolled): only \(right?.right ?? 0) cells are visible")
            harness.expect(right?.rows?.lowerBound == (scrolled == 0 ? 104 : 117), "\(scrolled): \(right as Any)")
            var window = DrawnWindow(first: 104, scrolled: scrolled)
            window.shown[150] = 3
            window.shown[160] = .some(nil)
            let wrong = window.frame
            harness.expect(wrong?.wrong.map(\.row) == [150] && wrong?.wrong.map(\.seen) == [3], "\(wrong as Any)")
            harness.expect(wrong?.blank == 1, "\(wrong as Any)")
        }
    }
    harness.part("a scrollbar, a blank column and a selected cell do not count as wrong cells") { harness in
        var window = DrawnWindow(first: 0, scrolled: 0)
        window.scrollbar = true
        window.selected = 27
        for line in 0..<9 { window.shown[line * 13 + 4] = .some(nil) }
        let frame = window.frame
        harness.expect(frame?.wrong.isEmpty == true && frame?.columns == 13, "\(frame as Any)")
        harness.expect(frame?.blank == 9 && frame?.right == 9 * 12, "\(frame as Any)")
        window.fading = 27
        harness.expect(window.frame?.wrong.isEmpty == true, "\(window.frame as Any)")
    }
    harness.part("the missing cells of the last line do not count as blank") { harness in
        for missing in 1..<7 {
            var window = DrawnWindow(first: 0, scrolled: 0)
            window.count = 9 * 13 - missing
            let frame = window.frame
            harness.expect(frame?.isComplete == true && frame?.right == window.count, "\(missing): \(frame as Any)")
            harness.expect(frame?.rows == 0..<window.count, "\(missing): \(frame as Any)")
        }
    }
    harness.part("pixels that do not fill the size of the window are not a frame") { harness in
        let window = DrawnWindow(first: 0, scrolled: 0)
        let smaller = GalleryFrame(width: 800, height: DrawnWindow.height, rowCount: 10_000) { window.pixel($0, $1) }
        harness.expect(smaller == nil, "\(smaller as Any)")
        let larger = GalleryFrame(width: DrawnWindow.width, height: 900, rowCount: 10_000) {
            $1 < DrawnWindow.height ? window.pixel($0, $1) : (0, 0, 0)
        }
        harness.expect(larger == nil, "\(larger as Any)")
    }
}

/// A window as the gallery draws it, with 13 columns.
private struct DrawnWindow {
    static let width = 960, height = 720
    private static let columns = 13, pitch = (x: 73, y: 70), cell = (width: 67, height: 64)

    /// The first row of the first line, and the number of pixels by which it lies under the header.
    var first: Int
    var scrolled: Int
    /// The rows that do not show their own image: nil for a placeholder, or another row.
    var shown: [Int: Int?] = [:]
    var selected: Int?
    /// The row of an image that has begun to fade in.
    var fading: Int?
    var scrollbar = false

    /// The number of rows in the list.
    var count = 10_000

    var frame: GalleryFrame? {
        GalleryFrame(width: Self.width, height: Self.height, rowCount: count) { pixel($0, $1) }
    }

    func pixel(_ x: Int, _ y: Int) -> (Int, Int, Int) {
        let border = (205, 199, 194), white = (255, 255, 255)
        if x == 0 || x == Self.width - 1 || y == Self.height - 1 { return border }
        if y < 51 { return (222, 219, 216) }
        if x < 8 || x >= Self.width - 3 || y > Self.height - 5 { return white }
        if scrollbar, x > 942 { return (230, 230, 230) }
        let down = y - 54 + scrolled, across = x - 8
        let (line, column) = (down / Self.pitch.y, across / Self.pitch.x)
        let (dx, dy) = (across % Self.pitch.x, down % Self.pitch.y)
        guard down >= 0, column < Self.columns else { return white }
        let row = first + line * Self.columns + column
        guard row < count else { return white }
        let ground = row == selected ? (66, 130, 206) : white
        guard dx < Self.cell.width, dy < Self.cell.height else {
            // The selection mark surrounds the selected cell.
            let next = first + line * Self.columns + (across + 3) / Self.pitch.x
            return dy < Self.cell.height && next == selected ? (66, 130, 206) : ground
        }
        guard let picture = shown[row, default: row] else { return (225, 225, 225) }
        let square = dy * 4 / Self.cell.height * 4 + dx * 4 / Self.cell.width
        let color = picture >> square & 1 == 1 ? (220, 30, 200) : (30, 220, 200)
        guard row == fading else { return color }
        func mix(_ a: Int, _ b: Int) -> Int { (a + 9 * b) / 10 }
        return (mix(color.0, ground.0), mix(color.1, ground.1), mix(color.2, ground.2))
    }
}
