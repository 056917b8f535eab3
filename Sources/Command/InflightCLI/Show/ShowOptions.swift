import Inflight

/// The options of `inflight show`.
struct ShowOptions: CommandOptions {
    /// The way in which images are drawn on the terminal.
    enum Mode: String, CaseIterable, Sendable {
        /// Kitty graphics if the terminal reports support, half blocks otherwise.
        case auto
        case kitty
        case blocks
    }

    /// The URLs and paths, in command-line order.
    var places: [String] = []
    var mode = Mode.auto
    /// The colours; if `nil`, those that the terminal's environment indicates.
    var colors: ColorDepth?
    /// The maximum size of an image, in terminal cells; a side that is `nil` takes as much as there is.
    var size = OptionValue.Sides()
    var enlarges = false
    /// The number of images side by side; if `nil`, as many as fit.
    var pictureColumns: Int?
    /// Whether only the first frame of an animation is shown.
    var isStill = false
    /// The number of times to play an animation; if `nil`, as its file says.
    var loops: Int?
    /// The colour behind transparent pixels; if `nil`, the terminal's own background.
    var background: [UInt8]?
    /// The index of the page, from 0.
    var page = 0
    var network = NetworkOptions(concurrency: 8, perHost: 6)

    var command: Command { .show(self) }

    mutating func take(argument: String) throws(UsageError) {
        if argument.isEmpty { throw UsageError("\"\" is neither a URL nor a file.") }
        places.append(argument)
    }

    func settle(standardOutputIsTerminal: Bool) throws(UsageError) {
        try network.settle()
        if places.isEmpty { throw UsageError("Give at least one URL or file.") }
        if isStill, loops != nil { throw UsageError("--still and --loop contradict each other.") }
        if mode == .kitty, colors != nil {
            throw UsageError("--colors is about half blocks; with --mode kitty a picture has all of its colours.")
        }
        guard standardOutputIsTerminal else {
            throw UsageError(
                "Standard output is no terminal, and show is for looking. To have the picture, use "
                    + "inflight get URL > FILE, or inflight get URL --size 640x480 -o DIR.")
        }
    }

    static let name = "show"

    static var table: [OptionGroup<Self>] {
        let limits = NetworkOptions.limitRows + [NetworkOptions.pixelLimit]
        return [
            OptionGroup("Size", sizing), OptionGroup("Drawing", drawing),
            OptionGroup("Limits", limits.map { $0.of(\.network) }),
            OptionGroup("Network", NetworkOptions.requestRows.map { $0.of(\.network) }),
            OptionGroup("Decoding", NetworkOptions.decodingRows.map { $0.of(\.network) }),
            OptionGroup("Output", output),
        ]
    }

    private static var sizing: [Option<Self>] {
        [
            Option("--size WxH", "in cells of the terminal, at most: 40x20, 40x or x20") { $0.size = try $1.cells() },
            Option("--enlarge", "also enlarge pictures that have fewer pixels", \.enlarges),
            Option("--columns N", "so many beside one another (as many as have room)") {
                $0.pictureColumns = try $1.integer(1...1000)
            },
        ]
    }

    private static var drawing: [Option<Self>] {
        [
            Option("--mode MODE", "auto (default); kitty: without asking the terminal; blocks") {
                $0.mode = try $1.choice()
            },
            Option(
                "--colors COLOURS",
                """
                of blocks: auto (default), truecolor, 256, or none, which makes letters; auto heeds COLORTERM and \
                NO_COLOR
                """
            ) { $0.colors = try $1.choice([("auto", nil)] + ColorDepth.allCases.map { ($0.rawValue, $0) }) },
            Option(
                "--background COLOUR",
                "behind what is transparent: white, black or #rrggbb (the terminal's own)"
            ) { $0.background = try $1.color() },
            Option("--still", "the first frame of animations", \.isStill),
            Option("--loop N", "play animations that often") { $0.loops = try $1.integer(1...1_000_000) },
            Option("--page N", "of a tiff file that has several, from 1") { $0.page = try $1.page() },
        ]
    }

    private static var output: [Option<Self>] {
        [
            Option("--quiet", "say nothing of failures", \.network.isQuiet),
            Option("--verbose", "say how each picture was drawn", \.network.isVerbose),
            Option("--json", nil, values: 0) { _, _ in
                throw UsageError("--json is nothing to look at; inflight info --json says what an image is.")
            },
        ]
    }

    static let introduction = """
        Shows pictures in the terminal: as pixels where the terminal says that it has
        Kitty graphics, as half blocks in colour everywhere else, tmux included. One is
        as large as the window, several stand in a grid. Animations play, as often as
        their files say; Ctrl-C ends that.

        Usage: inflight show URL-or-FILE… [options]
        """

    static let notes = """
        What has left the window does not move. Standard output has to be a terminal:
        to have a picture, use inflight get URL > FILE.

        Exit status: 0 all well, 1 something failed, 64 usage error, 66 the certificates
        cannot be read, 130 after Ctrl-C, 143 after SIGTERM.

        Examples:
          inflight show cat.jpg
          inflight show *.webp --columns 4
          inflight show https://example.org/dancing.gif --size 40x --loop 3
        """
}
