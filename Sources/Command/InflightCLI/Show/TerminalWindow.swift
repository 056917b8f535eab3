import Glibc

/// The size of a terminal's window.
struct TerminalWindow: Equatable, Sendable {
    /// The size of one cell in pixels.
    struct Cell: Equatable, Sendable {
        var width: Int
        var height: Int

        /// Returns `nil` for implausible sizes: terminals may report zero or nonsense if their cell size is unknown.
        init?(width: Int, height: Int) {
            guard (2...200).contains(width), (2...400).contains(height) else { return nil }
            self.width = width
            self.height = height
        }

        /// The cell of most terminals, approximately: twice as high as wide.
        static let fallback = Cell(width: 10, height: 20)!
    }

    var columns: Int
    var rows: Int
    /// The size of a cell; `nil` if the terminal does not report it.
    var cell: Cell?

    /// The assumed size of a terminal that reports none.
    static let fallback = TerminalWindow(columns: 80, rows: 24)

    /// The maximum number of columns, and of rows. More would be useless, and would take memory.
    private static let most = 2000

    init(columns: Int, rows: Int, cell: Cell? = nil) {
        self.columns = min(Self.most, max(1, columns))
        self.rows = min(Self.most, max(1, rows))
        self.cell = cell
    }

    /// Creates a window from the system's values (`TIOCGWINSZ`), in which zero means unknown.
    ///
    /// - Parameter told: The columns and rows from the environment, for values that the system does not report.
    init(_ size: winsize, told: (columns: Int?, rows: Int?) = (nil, nil)) {
        let (columns, rows) = (Int(size.ws_col), Int(size.ws_row))
        self.init(
            columns: columns > 0 ? columns : told.columns ?? Self.fallback.columns,
            rows: rows > 0 ? rows : told.rows ?? Self.fallback.rows)
        if columns > 0, rows > 0 {
            cell = Cell(width: Int(size.ws_xpixel) / columns, height: Int(size.ws_ypixel) / rows)
        }
    }
}

extension StandardStream {
    /// The window of the terminal; ``TerminalWindow/fallback`` if its size is unknown.
    var window: TerminalWindow {
        func told(_ name: String) -> Int? {
            unsafe getenv(name).flatMap { unsafe Int(String(cString: $0)) }.flatMap { $0 > 0 ? $0 : nil }
        }
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return .fallback }
        return TerminalWindow(size, told: (told("COLUMNS"), told("LINES")))
    }
}
