import Inflight

/// What is written to put pictures beside one another, and to change one of them later. Pure: bytes for values.
enum GridText {
    /// What stands in one place of the grid.
    struct Entry: Sendable {
        enum Content: Sendable {
            /// `id`: of a picture that will move, where the terminal keeps it by a number.
            case picture(Drawing.Form, PictureFit, id: UInt32?)
            /// Why there is none, in a line.
            case failure(String)
        }

        var content: Content
        /// Below it; `nil` where it stands alone.
        var caption: String?
    }

    struct Band: Equatable, Sendable {
        var bytes: [UInt8]
        /// How many lines the cursor has come down.
        var lines: Int
    }

    /// One line of pictures with what stands below them. The cursor begins and ends at the left of an empty line.
    ///
    /// Text is written from above to below, so that it is whole in a window of any size, and behind it. Pixels need their
    /// room first: the cursor goes down and up again.
    ///
    /// - Parameter hasSuccessor: whether another one follows, from which an empty line divides it.
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

    /// Another frame of a picture whose first line stands `up` lines above the cursor, which comes back to where it was.
    ///
    /// - Parameter previous: what is there now: lines that are the same are not written again.
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

    /// The same as pixels. The new frame is there before the old one goes, so that nothing flickers.
    static func frame(
        _ png: Bytes, fit: PictureFit, drawing: Drawing, id: UInt32, previousID: UInt32, up distance: Int,
        column start: Int
    ) -> [UInt8] {
        up(distance) + column(start) + KittyGraphics.picture(png, id: id, cells: cells(drawing, fit))
            + KittyGraphics.deletion(of: previousID) + down(distance) + Array("\r".utf8)
    }

    private static let newLine = Array("\r\n".utf8)

    private static func rows(_ entry: Entry) -> Int {
        switch entry.content {
        case .picture(_, let fit, _): fit.rows
        // Alone it is told beside the picture's place: there is none.
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

    /// One line of text through all places.
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

    /// Said where the terminal does not tell how large its cells are: it knows, and makes it fit.
    private static func cells(_ drawing: Drawing, _ fit: PictureFit) -> (columns: Int, rows: Int)? {
        guard case .kitty(_, isKnown: false) = drawing else { return nil }
        return (fit.columns, fit.rows)
    }

    // CUU, CUD and CHA of ECMA-48, sections 8.3.22, 8.3.19 and 8.3.9.
    private static func up(_ lines: Int) -> [UInt8] { lines > 0 ? Array("\u{1B}[\(lines)A".utf8) : [] }
    private static func down(_ lines: Int) -> [UInt8] { lines > 0 ? Array("\u{1B}[\(lines)B".utf8) : [] }
    private static func column(_ start: Int) -> [UInt8] { Array("\u{1B}[\(start + 1)G".utf8) }
}
