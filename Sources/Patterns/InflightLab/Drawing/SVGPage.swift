internal import InflightPrograms

/// A page that grows downwards, with text and shapes, escaped where necessary.
struct SVGPage {
    static let width = 960
    private static let margin = 32

    enum Face {
        case title, heading, text, remark, trouble, cell

        var attributes: String {
            switch self {
            case .title: "font-size=\"20\" font-weight=\"bold\" fill=\"#14181d\""
            case .heading: "font-size=\"14\" font-weight=\"bold\" fill=\"#14181d\""
            case .text: "font-size=\"13\" fill=\"#14181d\""
            case .remark: "font-size=\"13\" fill=\"#5b6570\""
            case .trouble: "font-size=\"13\" fill=\"#b3261e\""
            case .cell: "font-size=\"11\" fill=\"#14181d\""
            }
        }
    }

    private var body = ""
    /// The vertical position of the next element.
    private(set) var y = margin

    var left: Int { Self.margin }
    var right: Int { Self.width - Self.margin }

    mutating func skip(_ height: Int) { y += height }

    /// Adds lines of text, wrapped to the page's width.
    mutating func paragraph(_ text: String, _ face: Face) {
        let height = face == .title ? 26 : 19
        for line in TerminalText.wrapped(text, columns: face == .title ? 80 : 125) {
            label(line, x: left, y: y + height - 6, face)
            y += height
        }
    }

    mutating func label(_ text: String, x: Int, y: Int, _ face: Face, anchor: String = "start") {
        body +=
            "<text x=\"\(x)\" y=\"\(y)\" text-anchor=\"\(anchor)\" \(face.attributes)>\(MarkupText.escaped(text))</text>\n"
    }

    mutating func rectangle(x: Int, y: Int, width: Int, height: Int, _ attributes: String) {
        body += "<rect x=\"\(x)\" y=\"\(y)\" width=\"\(width)\" height=\"\(height)\" \(attributes)/>\n"
    }

    mutating func line(x: Int, y: Int, toX: Int, toY: Int, _ color: String) {
        body += "<line x1=\"\(x)\" y1=\"\(y)\" x2=\"\(toX)\" y2=\"\(toY)\" stroke=\"\(color)\"/>\n"
    }

    mutating func triangle(x: Int, y: Int, _ color: String) {
        body += "<path d=\"M\(x - 4) \(y) L\(x + 4) \(y) L\(x) \(y + 8) Z\" fill=\"\(color)\"/>\n"
    }

    /// Returns the whole file.
    func text(title: String) -> String {
        let (width, height) = (Self.width, y + Self.margin)
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" height="\(height)" \
            role="img" font-family="DejaVu Sans, Verdana, sans-serif">
            <title>\(MarkupText.escaped(title))</title>
            <rect width="\(width)" height="\(height)" fill="#ffffff"/>
            \(body)</svg>

            """
    }
}
