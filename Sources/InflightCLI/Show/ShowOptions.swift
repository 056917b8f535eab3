import Inflight

/// What `inflight show` was asked to do.
struct ShowOptions: Equatable, Sendable {
    /// How pictures are put on the terminal.
    enum Mode: String, CaseIterable, Sendable {
        /// Kitty graphics where the terminal says that it has them, half blocks elsewhere.
        case auto
        case kitty
        case blocks
    }

    /// In cells of the terminal; `nil`: as much as there is.
    struct Size: Equatable, Sendable {
        var width: Int?
        var height: Int?
    }

    /// URLs and paths, in the order of asking.
    var places: [String] = []
    var mode = Mode.auto
    /// `nil`: what the terminal's names say that it can.
    var colors: ColorDepth?
    /// The most that a picture takes.
    var size = Size()
    var enlarges = false
    /// How many pictures stand beside one another; `nil`: as many as have room.
    var pictureColumns: Int?
    /// Whether of an animation only the first frame is shown.
    var isStill = false
    /// How often an animation is shown; `nil`: as its file says.
    var loops: Int?
    /// What shines through; `nil`: the terminal's own background.
    var background: [UInt8]?
    /// Which page, from 0.
    var page = 0
    var network = NetworkOptions()

    static let names =
        [
            "--size", "--enlarge", "--columns", "--mode", "--colors", "--background", "--still", "--loop", "--page",
            "--max-pixels",
        ] + NetworkOptions.names.filter { $0 != "--json" }

    static func parse(
        _ reader: inout ArgumentReader, standardOutputIsTerminal: Bool
    ) throws(UsageError) -> Command {
        var options = ShowOptions()
        while let item = reader.next() {
            switch item {
            case .positional(let place):
                if place.isEmpty { throw UsageError("\"\" is neither a URL nor a file.") }
                options.places.append(place)
            case .option("--help", _), .option("-h", _):
                return .help(.show)
            case .option("--version", _):
                return .version
            case .option("--json", _):
                throw UsageError("--json is nothing to look at; inflight info --json says what a picture is.")
            case .option(let name, let attached):
                if try options.network.take(name, attached: attached, from: &reader) { continue }
                try options.take(name, attached: attached, from: &reader)
            }
        }
        try options.check(standardOutputIsTerminal: standardOutputIsTerminal)
        return .show(options)
    }

    private mutating func take(
        _ name: String, attached: String?, from reader: inout ArgumentReader
    ) throws(UsageError) {
        switch name {
        case "--enlarge", "--still":
            try reader.expectNoValue(of: name, attached: attached)
            if name == "--enlarge" { enlarges = true } else { isStill = true }
        case "--size":
            let text = try reader.value(of: name, attached: attached, "WIDTHxHEIGHT, WIDTHx or xHEIGHT in cells")
            let sides = try OptionValue.cells(text, of: name)
            size = Size(width: sides.width, height: sides.height)
        case "--columns":
            let text = try reader.value(of: name, attached: attached, "how many pictures stand side by side")
            pictureColumns = try OptionValue.integer(text, of: name, in: 1...1000)
        case "--mode":
            let text = try reader.value(of: name, attached: attached, "auto, kitty or blocks")
            mode = try OptionValue.choice(text, of: name, Mode.allCases.map { ($0.rawValue, $0) })
        case "--colors":
            let text = try reader.value(of: name, attached: attached, "auto, truecolor, 256 or none")
            colors = try OptionValue.choice(
                text, of: name, [("auto", nil)] + ColorDepth.allCases.map { ($0.rawValue, $0) })
        case "--background":
            background = try OptionValue.color(
                try reader.value(of: name, attached: attached, "a colour such as #ff8000"), of: name)
        case "--loop":
            let text = try reader.value(of: name, attached: attached, "how often")
            loops = try OptionValue.integer(text, of: name, in: 1...1_000_000)
        case "--page":
            page = try OptionValue.page(try reader.value(of: name, attached: attached, "a number from 1"), of: name)
        case "--max-pixels":
            let text = try reader.value(of: name, attached: attached, "a number of pixels")
            network.maximumPixels = try OptionValue.integer(text, of: name, in: 1...Int.max)
        default:
            throw ArgumentReader.unknown(name, known: Self.names)
        }
    }

    private func check(standardOutputIsTerminal: Bool) throws(UsageError) {
        try network.check()
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
}
