import Glibc

/// The capabilities of a terminal according to its environment, without querying the terminal itself.
struct TerminalProfile: Equatable, Sendable {
    /// The colours to use unless an option sets them.
    var colors: ColorDepth
    /// Whether querying Kitty graphics is worthwhile. `tmux` and `screen` reply for themselves and pass on no images; a
    /// dumb terminal does not reply.
    var mayHaveKitty: Bool

    /// - Parameter variable: Returns an environment variable, or `nil` if it is not set.
    ///
    /// Sources: `NO_COLOR` from no-color.org; `COLORTERM` as terminals have agreed on, and names that end in `-direct`
    /// from ncurses' terminfo; 256 colours otherwise.
    init(_ variable: (String) -> String?) {
        let kind = variable("TERM") ?? ""
        let isDumb = kind.isEmpty || kind == "dumb"
        let isMultiplexer =
            ["TMUX", "STY"].contains { variable($0)?.isEmpty == false }
            || ["tmux", "screen"].contains { kind == $0 || kind.hasPrefix($0 + "-") || kind.hasPrefix($0 + ".") }
        mayHaveKitty = !isDumb && !isMultiplexer
        if isDumb || variable("NO_COLOR")?.isEmpty == false {
            colors = .none
        } else if ["truecolor", "24bit"].contains(variable("COLORTERM")?.lowercased()) || kind.hasSuffix("-direct") {
            colors = .truecolor
        } else {
            colors = .palette
        }
    }

    /// The profile of this process.
    static var current: TerminalProfile {
        TerminalProfile { name in
            unsafe getenv(name).map { unsafe String(cString: $0) }
        }
    }
}
