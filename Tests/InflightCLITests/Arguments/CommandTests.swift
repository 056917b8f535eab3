import FoundationEssentials
import Inflight
import InflightConcurrency
import InflightCore
import InflightWorker
import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct CommandTests {
    private func get(_ line: String) throws -> GetOptions {
        guard case .get(let options) = try Command.parse(line: "get " + line) else {
            throw UsageError("not get")
        }
        return options
    }

    @Test("A report requires a file name and combines with every kind of output")
    func report() throws {
        #expect(try get("data:, -o out --report r.html").report == "r.html")
        #expect(try get("data:, --discard --json --report=r.html").report == "r.html")
        #expect(Command.complaint("get data:, -o out --report -")?.contains("name of a file") == true)
        #expect(Command.complaint("get data:, -o out --report=")?.contains("\"\" for --report") == true)
    }

    @Test("URLs and options may come in any order, and -- ends the options")
    func order() throws {
        let options = try get("http://a/1 -o out http://a/2 -i list -- -o http://a/3")
        #expect(options.urls == ["http://a/1", "http://a/2", "-o", "http://a/3"])
        #expect(options.output == "out")
        #expect(options.list == "list")
    }

    @Test("The value of a short option may be attached or be the next argument", arguments: ["-oout", "-o out"])
    func attachedShort(_ form: String) throws {
        #expect(try get("http://a \(form)").output == "out")
    }

    @Test(
        "Of an option given twice, the last value counts",
        arguments: [
            ("get http://a -i a -i b -o x -o out --size 1x --size 2x", "get http://a -i b -o out --size 2x"),
            ("get http://a --discard --format png --format keep", "get http://a --discard --format keep"),
            ("cache clear --host a --host b", "cache clear --host b"),
            ("cache clear --older-than 1d --older-than 7d", "cache clear --older-than 7d"),
            ("lab --svg a.svg --svg b.svg", "lab --svg b.svg"),
        ])
    func lastWins(_ line: String, _ expected: String) throws {
        #expect(try Command.parse(line: line) == Command.parse(line: expected))
    }

    @Test("A long option takes its value after = or separately", arguments: ["--size=320x240", "--size 320x240"])
    func attachedLong(_ form: String) throws {
        #expect(try get("http://a -o out \(form)").resize == Resize(width: 320, height: 240))
    }

    @Test("get without options uses the documented defaults")
    func defaults() throws {
        let options = try get("http://a -o out")
        #expect(options.treatment == .unchanged(verified: false))
        #expect(options.network.concurrency == 16)
        #expect(options.network.perHost == 6)
        #expect(options.network.limits.maximumBodyBytes == 200_000_000)
        #expect(options.network.limits.maximumPixels == 100_000_000)
        #expect(options.network.limits.totalTimeout == nil)
        #expect(options.background == [255, 255, 255])
        #expect(options.format == nil && options.quality == nil && options.resize == nil)
    }

    @Test(
        "A size gives the width, the height or both",
        arguments: [("320x240", 320, 240), ("320x", 320, nil), ("x240", nil, 240)] as [(String, Int?, Int?)])
    func sizes(_ text: String, _ width: Int?, _ height: Int?) throws {
        let options = try get("http://a -o out --fit cover --enlarge --size \(text)")
        #expect(options.resize == Resize(width: width, height: height, fit: .cover, enlarges: true))
        #expect(options.treatment == .reencoded)
    }

    @Test("--linear applies to --size only, and a resize step has a linear flag of its own")
    func linear() throws {
        let options = try get("http://a -o out --size 3x3 --linear --process resize:2x2:fill:top:linear")
        #expect(options.resize == Resize(width: 3, height: 3, light: .linear))
        #expect(options.processors == [.resize(width: 2, height: 2, fit: .fill, gravity: .top, light: .linear)])
        #expect(try get("http://a -o out --size 3x3").resize?.light == .encoded)
        #expect(Command.complaint("get http://a -o out --linear")?.contains("--size") == true)
        #expect(Command.complaint("get http://a -o out --process resize:2x2:fill:top:dark")?.contains("linear") == true)
    }

    @Test(
        "Options for size, format or encoding make get re-encode images",
        arguments: [
            "--size 3x3", "--format keep", "--format png", "--quality 80", "--progressive", "--format webp --lossless",
        ])
    func remaking(_ option: String) throws {
        #expect(try get("http://a -o out \(option)").treatment == .reencoded)
    }

    @Test("get parses --verify, --raw, --any, --discard and -i -")
    func treatments() throws {
        #expect(try get("http://a -o out --verify").treatment == .unchanged(verified: true))
        #expect(try get("http://a -o out --raw").treatment == .unchanged(verified: false))
        #expect(try get("http://a -o out --any").treatment == .anything)
        #expect(try get("http://a --discard").discards)
        #expect(try get("http://a -i - --discard").list == "-")
    }

    @Test(
        "A colour is a name or six hexadecimal digits",
        arguments: [
            ("white", [255, 255, 255]), ("black", [0, 0, 0]), ("#ff8001", [255, 128, 1]), ("0a0B0c", [10, 11, 12]),
        ]
            as [(String, [UInt8])])
    func colors(_ text: String, _ expected: [UInt8]) throws {
        #expect(try get("http://a -o out --background \(text)").background == expected)
    }

    @Test("--header trims field values, and --header-for restricts a field to a host")
    func headers() throws {
        let options = try get("http://a -o out --header X-A:__b:c_ --header-for Example.org:8080 Cookie:_a=b")
        #expect(options.network.headers[0] == .init(name: "X-A", value: "b:c"))
        #expect(options.network.headers[1].name == "Cookie")
        let pattern = try #require(options.network.headers[1].host)
        #expect(pattern.matches(Origin(scheme: "https", host: "example.org", port: 8080)))
        #expect(!pattern.matches(Origin(scheme: "https", host: "example.org", port: 443)))
        #expect(HostPattern("[::1]:80")?.matches(Origin(scheme: "http", host: "::1", port: 80)) == true)
        #expect(HostPattern("[::1]")?.matches(Origin(scheme: "http", host: "::1", port: 99)) == true)
    }

    @Test("--require-protection takes a list of protections and requires decoder processes")
    func requiredProtections() throws {
        let both: Set<DecoderConfiguration.Protection> = [.landlock, .namespaces]
        for (list, protections) in [("namespaces", [.namespaces]), ("landlock,namespaces", both)] {
            let options = try get("http://a -o out --quiet --require-protection \(list)").network
            #expect(options.requiredProtections == protections)
            #expect(options.decoder { _ in }.requiredProtections == protections)
            #expect(options.decoder { _ in }.missingProtectionsHandler == nil)
        }
        for rest in ["", " landlock,", " seccomp", " namespaces --decode in-process"] {
            #expect(throws: UsageError.self) { try get("http://a -o out --require-protection\(rest)") }
        }
        let text = Guarded("")
        try get("http://a -o out").network.decoder { warning in text.withLock { $0 = warning } }
            .missingProtectionsHandler?(both)
        #expect(text.withLock { $0.hasSuffix("does not provide: landlock,namespaces.") })
    }

    @Test("--timeout accepts fractional seconds")
    func seconds() throws {
        #expect(try get("http://a -o out --timeout 2.5").network.limits.totalTimeout == .milliseconds(2500))
    }

    @Test(
        "Help and version requests are recognised in every position",
        arguments: [
            ("--help", .help(Command.help)), ("-h", .help(Command.help)), ("help bogus", .help(Command.help)),
            ("help get", .help(GetOptions.help)), ("get --help", .help(GetOptions.help)),
            ("get http://a -h", .help(GetOptions.help)), ("info --help", .help(InfoOptions.help)),
            ("show --help", .help(ShowOptions.help)), ("help show", .help(ShowOptions.help)),
            ("cache clear -h", .help(CacheCommandOptions.help)), ("lab serial -h", .help(LabOptions.help)),
            ("help lab", .help(LabOptions.help)),
            ("--version", .version), ("get --version", .version), ("show a --version", .version),
        ] as [(String, Command)])
    func help(_ line: String, _ expected: Command) throws {
        #expect(try Command.parse(line: line) == expected)
    }

    @Test("No help text is wider than 80 columns", arguments: [Command.help] + Command.all.map { $0.help })
    func helpWidth(_ help: String) {
        for line in help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }

    @Test("The help of a command lists every visible option")
    func helpIsComplete() {
        for command in Command.all {
            for name in command.optionNames { #expect(command.help.contains("  \(name)") || name == "--version") }
        }
    }

    @Test("The documentation lists every option of get, cache and lab, and no other")
    func documentation() throws {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let page = try String(contentsOfFile: "/\(root)/Documentation/CommandLine.md", encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `-") }
        let cells = rows.compactMap { $0.split(separator: "|").first }.joined()
        #expect(Self.options(in: cells) == Set(GetOptions.optionNames))
        for command in [CacheCommandOptions.self, LabOptions.self] as [any CommandOptions.Type] {
            let paragraphs = page.split(separator: "\n\n").filter { $0.hasPrefix("`inflight \(command.name) ") }
            let expected = Set(command.optionNames).subtracting(["--help", "--version"])
            #expect(paragraphs.map { Self.options(in: String($0)) } == [expected])
        }
    }

    /// The option names that follow backticks.
    private static func options(in text: String) -> Set<String> {
        Set(text.matches(of: /`(--?[a-z-]+)/).map { String($0.1) })
    }

    @Test("show without options uses its defaults")
    func showDefaults() throws {
        var expected = ShowOptions()
        expected.places = ["a.jpg", "http://a/b"]
        #expect(try Command.parse(line: "show a.jpg http://a/b", terminal: true) == .show(expected))
    }

    @Test("show parses its options")
    func show() throws {
        var expected = ShowOptions()
        expected.places = ["a"]
        expected.mode = .blocks
        expected.colors = .palette
        expected.size = OptionValue.Sides(width: 40, height: nil)
        expected.enlarges = true
        expected.pictureColumns = 3
        expected.loops = 2
        expected.background = [255, 128, 0]
        expected.page = 1
        expected.network.limits.totalTimeout = .seconds(5)
        expected.network.limits.maximumPixels = 9
        expected.network.drawsSVG = true
        let line =
            "show a --mode blocks --colors 256 --size 40x --enlarge --columns 3 --loop 2 --background #ff8000 --page 2 "
            + "--timeout 5 --max-pixels 9 --svg"
        #expect(try Command.parse(line: line, terminal: true) == .show(expected))
        for isQuiet in [true, false] {
            var still = ShowOptions()
            still.places = ["a"]
            still.isStill = true
            still.network.isQuiet = isQuiet
            still.network.isVerbose = !isQuiet
            let line = "show a --still \(isQuiet ? "--quiet" : "--verbose")"
            #expect(try Command.parse(line: line, terminal: true) == .show(still))
        }
    }

    @Test("man takes a command or none, and completions takes a shell")
    func manual() throws {
        #expect(try Command.parse(line: "man") == .man(ManOptions()))
        #expect(try Command.parse(line: "man completions") == .man(ManOptions(name: "completions")))
        #expect(try Command.parse(line: "completions fish") == .completions(CompletionsOptions(shell: .fish)))
    }

    @Test("lab parses experiment names in order and its options")
    func experiments() throws {
        #expect(try Command.parse(line: "lab cells serial") == .lab(LabInvocation(experiments: ["cells", "serial"])))
        #expect(try Command.parse(line: "lab") == .lab(LabInvocation()))
        #expect(
            try Command.parse(line: "lab race --svg=a.svg --json")
                == .lab(LabInvocation(experiments: ["race"], json: true, svg: "a.svg")))
        #expect(try Command.parse(line: "lab --list") == .lab(LabInvocation(list: true)))
    }

    @Test(
        "cache clear selects entries by URL, host or age, or all by default",
        arguments: [
            ("", .all), ("--url HTTP://A/b#c", .url("http://a/b")), ("--host Example.ORG", .host("example.org")),
            ("--older-than 90s", .olderThan(seconds: 90)), ("--older-than 5m", .olderThan(seconds: 300)),
            ("--older-than=12h", .olderThan(seconds: 43_200)), ("--older-than 7d", .olderThan(seconds: 604_800)),
            ("--older-than 999999999w", .olderThan(seconds: 604_799_999_395_200)),
        ] as [(String, CacheCommandOptions.Target)])
    func clearing(_ options: String, _ target: CacheCommandOptions.Target) throws {
        guard case .cache(let options) = try Command.parse(line: "cache --json clear --cache dir \(options)") else {
            throw UsageError("not cache")
        }
        #expect(options.action == .clear && options.target == target && options.folder == "dir" && options.json)
    }

    @Test(
        "--process parses steps in the order given",
        arguments: [
            ("blur:4,grey", [.blur(radius: 4), .grey]), ("gray", [.grey]), ("sharpen", [.sharpen()]),
            ("sharpen:1.5:2", [.sharpen(amount: 1.5, radius: 2)]), ("rotate:-12.5", [.rotate(degrees: -12.5)]),
            ("resize:32x:cover:top", [.resize(width: 32, fit: .cover, gravity: .top)]),
            ("crop:3x4+5+6", [.crop(x: 5, y: 6, width: 3, height: 4)]),
            ("crop:3x4:interest", [.crop(width: 3, height: 4, gravity: .interest)]),
            (
                "round:8:2:#ff0000",
                [.roundCorners(radius: 8, border: ImageProcessor.Border(width: 2, color: PixelColor("#ff0000")!))]
            ),
            ("circle,border:1.5:white", [.circle(), .border(width: 1.5, color: .white)]),
            ("flip:vertical,flatten:black", [.flip(.vertical), .flatten(on: .black)]),
            (
                "brightness:1.5,contrast:2,saturation:0",
                [.adjust(brightness: 1.5), .adjust(contrast: 2), .adjust(saturation: 0)]
            ),
        ] as [(String, [ImageProcessor])])
    func process(text: String, processors: [ImageProcessor]) throws {
        let options = try get("http://a -o out --process \(text)")
        #expect(options.processors == processors)
        #expect(options.treatment == .reencoded)
    }

    @Test("--crop requires --fit cover, and --process contradicts --raw")
    func cropping() throws {
        #expect(
            try get("http://a -o out --size 3x4 --fit cover --crop interest").resize
                == Resize(width: 3, height: 4, fit: .cover, gravity: .interest))
        #expect(Command.complaint("get http://a -o out --size 3x4 --crop top")?.contains("--fit cover") == true)
        #expect(Command.complaint("get http://a -o out --crop top")?.contains("--fit cover") == true)
        #expect(Command.complaint("get http://a -o out --raw --process grey")?.contains("--process") == true)
    }
}
