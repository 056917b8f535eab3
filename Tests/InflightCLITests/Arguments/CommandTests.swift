import FoundationEssentials
import Inflight
import InflightCore
import Testing

@testable import InflightCLI

@Suite(.timeLimit(.minutes(10)))
struct CommandTests {
    private func parse(_ line: String, terminal: Bool = false) throws(UsageError) -> Command {
        let arguments = line.split(separator: " ").map { String($0.map { $0 == "_" ? " " : $0 }) }
        return try Command.parse(arguments, standardOutputIsTerminal: terminal)
    }

    private func get(_ line: String) throws -> GetOptions {
        guard case .get(let options) = try parse("get " + line) else {
            throw UsageError("not get")
        }
        return options
    }

    private func complaint(_ line: String, terminal: Bool = false) -> String? {
        do throws(UsageError) {
            _ = try parse(line, terminal: terminal)
            return nil
        } catch {
            return error.message
        }
    }

    @Test("A report needs the name of a file, and goes with any other option")
    func report() throws {
        #expect(try get("data:, -o out --report r.html").report == "r.html")
        #expect(try get("data:, --discard --json --report=r.html").report == "r.html")
        #expect(complaint("get data:, -o out --report -")?.contains("needs the name of a file") == true)
        #expect(complaint("get data:, -o out --report=")?.contains("not \"\"") == true)
    }

    @Test("URLs and options may come in any order, and -- ends the options")
    func order() throws {
        let options = try get("http://a/1 -o out http://a/2 -i list -- -o http://a/3")
        #expect(options.urls == ["http://a/1", "http://a/2", "-o", "http://a/3"])
        #expect(options.directory == "out")
        #expect(options.list == "list")
    }

    @Test("A value may be attached or stand in the next argument", arguments: ["-oout", "-o out"])
    func attachedShort(_ form: String) throws {
        #expect(try get("http://a \(form)").directory == "out")
    }

    @Test("A long option takes its value behind = as well", arguments: ["--size=320x240", "--size 320x240"])
    func attachedLong(_ form: String) throws {
        #expect(try get("http://a -o out \(form)").resize == Resize(width: 320, height: 240))
    }

    @Test("Without options the defaults of the documentation hold")
    func defaults() throws {
        let options = try get("http://a -o out")
        #expect(options.treatment == .asItCame(verified: false))
        #expect(options.network.concurrency == 16)
        #expect(options.network.perHost == 6)
        #expect(options.network.limits.maximumBodyBytes == 200_000_000)
        #expect(options.network.limits.maximumPixels == 100_000_000)
        #expect(options.network.limits.totalTimeout == nil)
        #expect(options.background == [255, 255, 255])
        #expect(options.format == nil && options.quality == nil && options.resize == nil)
    }

    @Test(
        "A size is one or two sides",
        arguments: [("320x240", 320, 240), ("320x", 320, nil), ("x240", nil, 240)] as [(String, Int?, Int?)])
    func sizes(_ text: String, _ width: Int?, _ height: Int?) throws {
        let options = try get("http://a -o out --fit cover --enlarge --size \(text)")
        #expect(options.resize == Resize(width: width, height: height, fit: .cover, enlarges: true))
        #expect(options.treatment == .remade)
    }

    @Test("Linear light is the size's, or a step's")
    func linear() throws {
        let options = try get("http://a -o out --size 3x3 --linear --process resize:2x2:fill:top:linear")
        #expect(options.resize == Resize(width: 3, height: 3, light: .linear))
        #expect(options.processors == [.resize(width: 2, height: 2, fit: .fill, gravity: .top, light: .linear)])
        #expect(try get("http://a -o out --size 3x3").resize?.light == .encoded)
        #expect(complaint("get http://a -o out --linear")?.contains("--size") == true)
        #expect(complaint("get http://a -o out --process resize:2x2:fill:top:dark")?.contains("linear") == true)
    }

    @Test(
        "Size, format or quality mean that pictures are made anew",
        arguments: [
            "--size 3x3", "--format keep", "--format png", "--quality 80", "--progressive", "--format webp --lossless",
        ])
    func remaking(_ option: String) throws {
        #expect(try get("http://a -o out \(option)").treatment == .remade)
    }

    @Test("What is said of verifying, taking anything and discarding is understood")
    func treatments() throws {
        #expect(try get("http://a -o out --verify").treatment == .asItCame(verified: true))
        #expect(try get("http://a -o out --raw").treatment == .asItCame(verified: false))
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

    @Test("Headers keep their value, without the space around it, and know their host")
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

    @Test("Seconds may have a fraction")
    func seconds() throws {
        #expect(try get("http://a -o out --timeout 2.5").network.limits.totalTimeout == .milliseconds(2500))
    }

    @Test(
        "Help and version are printed wherever they are requested",
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
        #expect(try parse(line) == expected)
    }

    @Test("No help text is wider than 80 columns", arguments: [Command.help] + Command.all.map { $0.help })
    func helpWidth(_ help: String) {
        for line in help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }

    @Test("Every option that is not hidden is in the help of its command")
    func helpIsComplete() {
        for command in Command.all {
            for name in command.optionNames { #expect(command.help.contains("  \(name)") || name == "--version") }
        }
    }

    @Test("The README lists every option of get, cache and lab, and no other")
    func readme() throws {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let readme = try String(contentsOfFile: "/\(root)/README.md", encoding: .utf8)
        let rows = readme.split(separator: "\n").filter { $0.hasPrefix("| `-") }
        let cells = rows.compactMap { $0.split(separator: "|").first }.joined()
        #expect(Self.options(in: cells) == Set(GetOptions.optionNames))
        for command in [CacheCommandOptions.self, LabOptions.self] as [any CommandOptions.Type] {
            let paragraphs = readme.split(separator: "\n\n").filter { $0.hasPrefix("`inflight \(command.name) ") }
            let expected = Set(command.optionNames).subtracting(["--help", "--version"])
            #expect(paragraphs.map { Self.options(in: String($0)) } == [expected])
        }
    }

    /// Names of options behind backticks.
    private static func options(in text: String) -> Set<String> {
        Set(text.matches(of: /`(--?[a-z-]+)/).map { String($0.1) })
    }

    @Test(
        "What is to be cleared is a URL, a host, an age, or everything",
        arguments: [
            ("", .all), ("--url HTTP://A/b#c", .url("http://a/b")), ("--host Example.ORG", .host("example.org")),
            ("--older-than 90s", .olderThan(seconds: 90)), ("--older-than 5m", .olderThan(seconds: 300)),
            ("--older-than=12h", .olderThan(seconds: 43_200)), ("--older-than 7d", .olderThan(seconds: 604_800)),
            ("--older-than 999999999w", .olderThan(seconds: 604_799_999_395_200)),
        ] as [(String, CacheCommandOptions.Target)])
    func clearing(_ options: String, _ target: CacheCommandOptions.Target) throws {
        guard case .cache(let options) = try parse("cache --json clear --cache dir \(options)") else {
            throw UsageError("not cache")
        }
        #expect(options.action == .clear && options.target == target && options.folder == "dir" && options.json)
    }

    @Test(
        "Wrong use is answered by a line that names what is wrong",
        arguments: [
            ("", "what to do"), ("fetch", "\"fetch\""), ("--vresion", "did you mean --version"),
            ("http://a/b", "inflight get"),
            ("get", "at least one URL"), ("get http://a http://b", "-o DIR"), ("get -i list", "-o DIR"),
            ("get http://a --json", "--json"), ("get http://a --skip-existing", "--skip-existing"),
            ("get http://a -o", "-o needs a value"), ("get http://a -o out --siz 3x3", "did you mean --size"),
            ("get http://a -o out --bogus", "--bogus"), ("get http://a -o out --raw=1", "--raw takes no value"),
            ("get http://a -o out --size 0x5", "--size"), ("get http://a -o out --size x", "\"x\""),
            ("get http://a -o out --size 12", "\"12\""), ("get http://a -o out --size 1x2x3", "--size"),
            ("get http://a -o out --size -1x2", "--size"),
            ("get http://a -o out --size 99999999999999999999x2", "--size"),
            ("get http://a -o out --fit cover", "--fit"), ("get http://a -o out --enlarge", "--enlarge"),
            ("get http://a -o out --size 3x3 --fit squeeze", "\"squeeze\""),
            ("get http://a -o out --format gif", "keep, jpeg, png, webp or avif"),
            ("get http://a -o out --lossless", "--format webp"),
            ("get http://a -o out --lossless --format webp --quality 9", "contradict"),
            ("get http://a -o out --quality 0", "1 to 100"), ("get http://a -o out --quality 101", "1 to 100"),
            ("get http://a -o out --background red", "--background"),
            ("get http://a -o out --raw --size 3x3", "--raw"), ("get http://a -o out --any --verify", "--any"),
            ("get http://a -o out --any --raw", "--any"), ("get http://a -o out --any --format png", "--format"),
            ("get http://a -o out --quiet --verbose", "contradict"),
            ("get http://a -o out --concurrency 0", "--concurrency"),
            ("get http://a -o out --per-host x", "--per-host"), ("get http://a -o out --timeout 0", "--timeout"),
            ("get http://a -o out --timeout nan", "--timeout"), ("get http://a -o out --max-bytes -5", "--max-bytes"),
            ("get http://a -o out --min-rate -1", "--min-rate"),
            ("get http://a -o out --max-pixels 1e5", "--max-pixels"),
            ("get http://a -o out --max-redirects -1", "--max-redirects"),
            ("get http://a -o out --header nothing", "no colon"), ("get http://a -o out --header b_d:_x", "\"b d\""),
            ("get http://a -o out --header-for a/b X:_y", "--header-for"),
            ("get http://a -o out --header-for a", "as in --header-for HOST"),
            ("get -i a -i b -o out", "twice"), ("get - -o out", "-i -"),
            ("get http://a -o out --size 60000x60000 --enlarge", "--max-pixels"),
            ("cache", "stat, list, verify or clear"), ("cache --json", "stat, list, verify or clear"),
            ("cache verfy", "did you mean verify"), ("cache bogus", "\"bogus\""), ("cache stat dir", "--cache"),
            ("cache clear http://a/b", "--url"), ("cache clear --url cat.jpg", "\"cat.jpg\""),
            ("cache clear --host a.org:80", "without a port"), ("cache clear --host a/b", "--host"),
            ("cache clear --older-than 7", "\"7\""), ("cache clear --older-than d", "\"d\""),
            ("cache clear --older-than -7d", "\"-7d\""), ("cache clear --older-than 7y", "\"7y\""),
            ("cache clear --older-than 9999999999d", "--older-than"),
            ("cache clear --host a --url http://a/", "one of --host and --url"),
            ("cache clear --host a --host b", "once"), ("cache list --host a", "clear alone"),
            ("cache stat --cache=", "--cache"), ("cache stat --jsn", "did you mean --json"),
            ("get http://a -o out --raw --keep-metadata", "--raw"),
            ("get http://a -o out --any --keep-metadata", "--any"),
            ("get http://a -o out --format avif --keep-metadata", "avif"),
            ("get http://a -o out --page 0", "--page"), ("get http://a -o out --raw --page 2", "--page"),
            ("info a --page x", "--page"), ("info --formats --page 2", "--formats"),
            ("info", "at least one"), ("info --formats a", "--formats"), ("info --formats --exif", "--formats"),
            ("info --formats=yes", "no value"),
            ("info a --size 3x3", "--size"), ("info a --max-pixels 5", "no option"),
        ])
    func wrongUse(_ line: String, _ part: String) throws {
        let message = try #require(complaint(line))
        #expect(message.contains(part), "\(message)")
        #expect(!message.contains("\n"))
    }

    @Test("A picture is not written to a terminal")
    func terminal() {
        #expect(complaint("get http://a", terminal: true)?.contains("terminal") == true)
        #expect(complaint("get http://a", terminal: false) == nil)
        #expect(complaint("get http://a --discard", terminal: true) == nil)
    }

    @Test("A secret in a header is never repeated in a complaint")
    func secrets() {
        let message = complaint("get http://a -o out --header Auth\u{1}orization:_s3cret")
        #expect(message != nil && message?.contains("s3cret") == false)
        #expect(message?.contains("\u{1}") == false)
    }

    @Test(
        "Steps of --process are read as they are written",
        arguments: [
            ("blur:4,grey", [.blur(radius: 4), .grey]), ("gray", [.grey]), ("sharpen", [.sharpen()]),
            ("sharpen:1.5:2", [.sharpen(amount: 1.5, radius: 2)]), ("rotate:-12.5", [.rotate(degrees: -12.5)]),
            ("resize:32x:cover:top", [.resize(width: 32, fit: .cover, gravity: .top)]),
            ("crop:3x4+5+6", [.crop(x: 5, y: 6, width: 3, height: 4)]),
            ("crop:3x4:interest", [.crop(width: 3, height: 4, gravity: .interest)]),
            ("round:8:2:#ff0000", [.roundCorners(radius: 8, border: Border(width: 2, color: PixelColor("#ff0000")!))]),
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
        #expect(options.treatment == .remade)
    }

    @Test(
        "Steps that cannot be are complained about, with what they take",
        arguments: [
            ("blurr:4", "does not know \"blurr\""), ("", "does not know \"\""), ("grey,", "does not know \"\""),
            ("blur", "blur:RADIUS, not \"blur\""), ("blur:x", "blur:RADIUS, not \"blur:x\""),
            ("blur:1001", "from 0 to 1,000, not \"1001\""), ("blur:-1", "from 0 to 1,000"), ("blur:1e3", "blur:RADIUS"),
            ("blur:nan", "blur:RADIUS"), ("grey:1", "takes grey"), ("crop:3x", "crop:WxH[:GRAVITY] or crop:WxH+X+Y"),
            ("crop:3x4+5", "crop:WxH+X+Y"), ("crop:3x4+-5+1", "crop:WxH+X+Y"), ("crop:3x4+5+6:top", "crop:WxH+X+Y"),
            ("crop:0x4", "WIDTHxHEIGHT"), ("flip:sideways", "horizontal or vertical"),
            ("border:2", "border:WIDTH:COLOUR"),
            ("border:2:blue", "a colour such as"), ("flatten:clear", "opaque"), ("circle:3", "circle[:BORDER:COLOUR]"),
            ("resize:3x4:cover:middle", "center, top"),
        ] as [(String, String)])
    func badProcess(text: String, words: String) throws {
        let message = try #require(complaint("get http://a -o out --process=\(text)"))
        #expect(message.contains(words), "\(message)")
    }

    @Test("Where to crop is a question of cover alone")
    func cropping() throws {
        #expect(
            try get("http://a -o out --size 3x4 --fit cover --crop interest").resize
                == Resize(width: 3, height: 4, fit: .cover, gravity: .interest))
        #expect(complaint("get http://a -o out --size 3x4 --crop top")?.contains("--fit cover") == true)
        #expect(complaint("get http://a -o out --crop top")?.contains("--fit cover") == true)
        #expect(complaint("get http://a -o out --raw --process grey")?.contains("--process") == true)
    }
}
