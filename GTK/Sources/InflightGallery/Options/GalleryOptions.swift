/// The command-line options of `inflight-gallery`.
struct GalleryOptions {
    static let help = """
        Looks at pictures: from URLs, from a file with a URL on each line, from folders.

        Usage: inflight-gallery [URL | FILE.txt | PICTURE | FOLDER…] [options]

          --size N       how large pictures are in the grid, in points (128)
          --memory MB    for decoded pictures (256)
          --per-host N   loads at once from one host (6)
          --dark         the dark variant of the desktop's theme
          --svg          drawings too
          --help         this

        In the grid: the arrow keys go from picture to picture, Return shows one large,
        Ctrl-F searches, Ctrl-plus and Ctrl-minus zoom, Ctrl-L turns dark to light,
        Ctrl-D shows what the engine is doing, Ctrl-R tries failed pictures again,
        Ctrl-Q ends. A large picture: left and right, Escape.

        """

    var sources: [String] = []
    var size = 128
    var memory = 256
    var perHost = 6
    var isDark = false
    var drawsSVG = false
    var wantsHelp = false

    struct Failure: Error {
        var message: String
    }

    init(_ arguments: [String]) throws(Failure) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": wantsHelp = true
            case "--dark": isDark = true
            case "--svg": drawsSVG = true
            case "--size": size = try Self.number(argument, rest.popFirst(), 32...1024)
            case "--memory": memory = try Self.number(argument, rest.popFirst(), 1...1_000_000)
            case "--per-host": perHost = try Self.number(argument, rest.popFirst(), 1...256)
            case _ where argument.hasPrefix("--"):
                throw Failure(message: "There is no option \(argument). inflight-gallery --help tells which there are.")
            default: sources.append(argument)
            }
        }
    }

    private static func number(_ option: String, _ text: String?, _ range: ClosedRange<Int>) throws(Failure) -> Int {
        guard let text, let number = Int(text), range.contains(number) else {
            throw Failure(message: "\(option) takes a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}
