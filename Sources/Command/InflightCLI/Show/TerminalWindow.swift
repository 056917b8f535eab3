import Glibc

/// How large a terminal's window is.
struct TerminalWindow: Equatable, Sendable {
    /// The pixels of one cell.
    struct Cell: Equatable, Sendable {
        var width: Int
        var height: Int

        /// `nil` for what no cell can be: a terminal that does not know says zero, or nonsense.
        init?(width: Int, height: Int) {
            guard (2...200).contains(width), (2...400).contains(height) else { return nil }
            self.width = width
            self.height = height
        }

        /// What most have, near enough: twice as high as wide.
        static let usual = Cell(width: 10, height: 20)!
    }

    var columns: Int
    var rows: Int
    /// `nil` where the terminal does not say.
    var cell: Cell?

    /// What a terminal is taken for that says nothing.
    static let usual = TerminalWindow(columns: 80, rows: 24)

    /// More than these are no use to anybody, and would take memory.
    private static let most = 2000

    init(columns: Int, rows: Int, cell: Cell? = nil) {
        self.columns = min(Self.most, max(1, columns))
        self.rows = min(Self.most, max(1, rows))
        self.cell = cell
    }

    /// What the system says (`TIOCGWINSZ`); zeros are not known.
    ///
    /// - Parameter told: what the environment says where the system does not: columns and rows.
    init(_ size: winsize, told: (columns: Int?, rows: Int?) = (nil, nil)) {
        let (columns, rows) = (Int(size.ws_col), Int(size.ws_row))
        self.init(
            columns: columns > 0 ? columns : told.columns ?? Self.usual.columns,
            rows: rows > 0 ? rows : told.rows ?? Self.usual.rows)
        if columns > 0, rows > 0 {
            cell = Cell(width: Int(size.ws_xpixel) / columns, height: Int(size.ws_ypixel) / rows)
        }
    }
}

extension StandardStream {
    /// The window of the terminal; what is usual where nothing is known of it.
    var window: TerminalWindow {
        func told(_ name: String) -> Int? {
            unsafe getenv(name).flatMap { unsafe Int(String(cString: $0)) }.flatMap { $0 > 0 ? $0 : nil }
        }
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return .usual }
        return TerminalWindow(size, told: (told("COLUMNS"), told("LINES")))
    }
}
