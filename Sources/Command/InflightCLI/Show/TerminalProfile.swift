import Glibc

/// What a terminal's environment says of it, without asking the terminal itself.
struct TerminalProfile: Equatable, Sendable {
    /// How colours are drawn where nobody says otherwise.
    var colors: ColorDepth
    /// Whether it is worth while to ask for Kitty graphics: `tmux` and `screen` answer for themselves, and pass on no
    /// pictures; what can do nothing answers nothing.
    var mayHaveKitty: Bool

    /// - Parameter variable: a variable of the environment; `nil` where it is not set.
    ///
    /// Sources: `NO_COLOR` from no-color.org; `COLORTERM` as terminals have agreed on, and names that end in `-direct` from
    /// ncurses' terminfo; 256 colours elsewhere.
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

    /// That of this process.
    static var current: TerminalProfile {
        TerminalProfile { name in
            unsafe getenv(name).map { unsafe String(cString: $0) }
        }
    }
}
