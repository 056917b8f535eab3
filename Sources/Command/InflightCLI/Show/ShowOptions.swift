import Inflight

/// The options of `inflight show`.
struct ShowOptions: CommandOptions {
    /// The method of drawing images on the terminal.
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
    /// The maximum size of an image, in terminal cells; if a side is `nil`, the window limits it.
    var size = OptionValue.Sides()
    var enlarges = false
    /// The number of images side by side; if `nil`, as many as fit.
    var pictureColumns: Int?
    /// Whether only the first frame of an animation is shown.
    var isStill = false
    /// The number of times to play an animation; if `nil`, its file decides.
    var loops: Int?
    /// The colour behind transparent pixels; if `nil`, the terminal's own background.
    var background: [UInt8]?
    /// The index of the page, from 0.
    var page = 0
    var network = NetworkOptions(concurrency: 8, perHost: 6)

    var command: Command { .show(self) }

    mutating func take(argument: String) throws(UsageError) {
        if argument.isEmpty { throw UsageError("Empty argument. Expected a URL or a file.") }
        places.append(argument)
    }

    func validate(standardOutputIsTerminal: Bool) throws(UsageError) {
        try network.validate()
        if places.isEmpty { throw UsageError("No image given. Specify at least one URL or file.") }
        if isStill, loops != nil { throw UsageError("--still and --loop cannot be combined.") }
        if mode == .kitty, colors != nil {
            throw UsageError("--colors applies to half blocks and cannot be combined with --mode kitty.")
        }
        guard standardOutputIsTerminal else {
            throw UsageError(
                "Standard output is not a terminal. To store the image, use inflight get URL > FILE, "
                    + "or inflight get URL -o DIR.")
        }
    }

    static let name = "show"

    static var table: [OptionGroup<Self>] {
        let limits = NetworkOptions.limitRows() + [NetworkOptions.pixelLimit]
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
            Option("--size WxH", "maximum size in terminal cells: 40x20, 40x or x20") { $0.size = try $1.cells() },
            Option("--enlarge", "also upscale smaller images", \.enlarges),
            Option("--columns N", "number of images side by side (default: as many as fit)") {
                $0.pictureColumns = try $1.integer(1...1000)
            },
        ]
    }

    private static var drawing: [Option<Self>] {
        [
            Option(
                "--mode MODE", "auto (default: query the terminal), kitty or blocks (half blocks)",
                OptionValue.choices()
            ) { $0.mode = $1 },
            Option(
                "--colors COLOURS",
                """
                colours of half blocks: auto (default, by COLORTERM and NO_COLOR), truecolor, 256 or none (letters)
                """,
                [("auto", nil)] + ColorDepth.allCases.map { ($0.rawValue, $0) }
            ) { $0.colors = $1 },
            Option(
                "--background COLOUR",
                "colour behind transparency: white, black or #rrggbb (default: the terminal's own)",
                .words(["white", "black"])
            ) { $0.background = try $1.color() },
            Option("--still", "show only the first frame of animations", \.isStill),
            Option("--loop N", "play animations N times (default: as their files say)") {
                $0.loops = try $1.integer(1...1_000_000)
            },
            Option("--page N", "show page N of a TIFF file, from 1 (default 1)") { $0.page = try $1.page() },
        ]
    }

    private static var output: [Option<Self>] {
        [
            Option("--quiet", "do not print failures", \.network.isQuiet),
            Option("--verbose", "print format, dimensions and drawn size of each image", \.network.isVerbose),
            Option("--json", nil, values: 0) { _, _ in
                throw UsageError("--json cannot be used with show. Use inflight info --json.")
            },
        ]
    }

    static let manual = CommandManual(
        summary: "show images in the terminal",
        arguments: "URL-or-FILE…",
        suggestion: .file,
        usage: ["URL-or-FILE… [options]"],
        introduction: """
            Shows images in the terminal: with Kitty graphics if the terminal reports
            support, otherwise, as in tmux, with half blocks in colour. A single image fits
            the window, several are drawn in a grid. Animations play until Ctrl-C, or as
            often as their files say.
            """,
        notes: """
            Animations that have scrolled out of the window do not play. Standard output
            must be a terminal. To store an image, use inflight get URL > FILE.
            """,
        noInput: "the certificates cannot be read",
        environment: [
            ("COLORTERM", "truecolor or 24bit: draw half blocks in 24-bit colour"), CommandManual.colorVariable,
        ] + CommandManual.loadingVariables,
        examples: [
            "inflight show cat.jpg",
            "inflight show *.webp --columns 4",
            "inflight show https://example.org/dancing.gif --size 40x --loop 3",
        ])
}
