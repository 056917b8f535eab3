import Inflight

/// Generates the output that draws images side by side and changes one of them later. Pure: values to bytes.
enum GridText {
    /// The contents of one slot of the grid.
    struct Entry: Sendable {
        enum Content: Sendable {
            /// `id` is the number under which the terminal stores an animated image.
            case picture(Drawing.Form, ImageFit, id: UInt32?)
            /// The reason for a failure, in one line.
            case failure(String)
        }

        var content: Content
        /// The line below; `nil` for a single image.
        var caption: String?
    }

    struct Band: Equatable, Sendable {
        var bytes: [UInt8]
        /// The number of lines that the cursor has moved down.
        var lines: Int
    }

    /// Returns one line of images with their captions. The cursor begins and ends at the left of an empty line.
    ///
    /// Text is written from top to bottom, so that it is complete in a window of any size and in the scrollback. Pixels
    /// need existing lines, so the cursor moves down and up again first.
    ///
    /// - Parameter hasSuccessor: Whether another one follows, separated by an empty line.
    static func band(
        _ entries: [Entry], layout: GridLayout, drawing: Drawing, style: Style, hasSuccessor: Bool
    ) -> Band {
        var band = Band(bytes: [], lines: 0)
        let height = entries.map(rows).max() ?? 0
        let pixels = entries.enumerated().flatMap { index, entry -> [UInt8] in
            guard case .picture(.png(let png), let fit, let id) = entry.content else { return [] }
            return column(layout.start(of: index))
                + KittyGraphics.picture(png, id: id, cells: cells(drawing, fit))
        }
        if !pixels.isEmpty {
            band.bytes += Array(String(repeating: "\r\n", count: height).utf8) + up(height) + pixels
            band.bytes += Array("\r".utf8)
        }
        for row in 0..<height {
            band.bytes += line(entries, layout) { text(of: $0, row: row, style: style) } + newLine
        }
        band.lines += height
        if entries.contains(where: { $0.caption != nil }) {
            band.bytes += line(entries, layout) { entry in
                entry.caption.map { (Array($0.utf8), TerminalText.width($0)) }
            }
            band.bytes += newLine
            band.lines += 1
        }
        if hasSuccessor, band.lines > 0 {
            band.bytes += newLine
            band.lines += 1
        }
        return band
    }

    /// Returns another frame of an image whose first line is `up` lines above the cursor, which returns afterwards.
    ///
    /// - Parameter previous: The current lines. Those that are the same are not written again.
    static func frame(
        _ lines: [[UInt8]], previous: [[UInt8]], up distance: Int, column start: Int
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        var line = 0
        for (number, text) in lines.enumerated() where !previous.indices.contains(number) || previous[number] != text {
            bytes += bytes.isEmpty ? up(distance - number) : down(number - line)
            bytes += column(start) + text
            line = number
        }
        guard !bytes.isEmpty else { return [] }
        return bytes + down(distance - line) + Array("\r".utf8)
    }

    /// Returns another frame as pixels. The new frame is drawn before the old one is deleted, so that nothing flickers.
    static func frame(
        _ png: Bytes, fit: ImageFit, drawing: Drawing, id: UInt32, previousID: UInt32, up distance: Int,
        column start: Int
    ) -> [UInt8] {
        up(distance) + column(start) + KittyGraphics.picture(png, id: id, cells: cells(drawing, fit))
            + KittyGraphics.deletion(of: previousID) + down(distance) + Array("\r".utf8)
    }

    private static let newLine = Array("\r\n".utf8)

    private static func rows(_ entry: Entry) -> Int {
        switch entry.content {
        case .picture(_, let fit, _): fit.rows
        // A single image that failed takes no line: its error is reported separately.
        case .failure: entry.caption == nil ? 0 : 1
        }
    }

    private static func text(of entry: Entry, row: Int, style: Style) -> ([UInt8], Int)? {
        switch entry.content {
        case .picture(.lines(let lines), let fit, _):
            lines.indices.contains(row) ? (lines[row], fit.columns) : nil
        case .failure(let text):
            row == 0 ? (Array(style.red(text).utf8), TerminalText.width(text)) : nil
        case .picture: nil
        }
    }

    /// Returns one line of text across all entries.
    private static func line(
        _ entries: [Entry], _ layout: GridLayout, _ text: (Entry) -> ([UInt8], Int)?
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        var written = 0
        for (index, entry) in entries.enumerated() {
            guard let (text, width) = text(entry) else { continue }
            let start = layout.start(of: index)
            bytes += repeatElement(UInt8(ascii: " "), count: max(0, start - written)) + text
            written = start + width
        }
        return bytes
    }

    /// Returns the size in cells if the terminal, which scales the image, does not report its cell size.
    private static func cells(_ drawing: Drawing, _ fit: ImageFit) -> (columns: Int, rows: Int)? {
        guard case .kitty(_, isKnown: false) = drawing else { return nil }
        return (fit.columns, fit.rows)
    }

    // The sequences CUU, CUD and CHA of ECMA-48, sections 8.3.22, 8.3.19 and 8.3.9.
    private static func up(_ lines: Int) -> [UInt8] { lines > 0 ? Array("\u{1B}[\(lines)A".utf8) : [] }
    private static func down(_ lines: Int) -> [UInt8] { lines > 0 ? Array("\u{1B}[\(lines)B".utf8) : [] }
    private static func column(_ start: Int) -> [UInt8] { Array("\u{1B}[\(start + 1)G".utf8) }
}
