import Inflight
import InflightCore
import Testing

@testable import InflightCLI

/// Error messages for invalid command lines.
@Suite("Usage errors", .timeLimit(.minutes(10)))
struct UsageErrorTests {
    @Test(
        "A usage error is a single line that names the offending argument",
        arguments: [
            ("", "get, batch, info, show, cache, lab, man and completions"),
            ("download", "\"download\". Commands: get,"),
            ("chace", "Did you mean cache?"), ("gte", "Did you mean get?"), ("--vresion", "Did you mean --version"),
            ("http://a/b", "inflight get"),
            ("get", "at least one URL"), ("get http://a http://b", "-o DIR"), ("get -i list", "-o DIR"),
            ("get http://a --json", "--json"), ("get http://a --skip-existing", "--skip-existing"),
            ("get http://a --update", "--update requires -o DIR."),
            ("get http://a --overwrite", "--overwrite requires -o DIR."),
            ("get http://a -o out --discard --update", "--update and --discard cannot be combined"),
            ("get http://a -o out --overwrite --discard", "--overwrite and --discard cannot be combined"),
            ("get http://a -o out --update --skip-existing", "--skip-existing and --update cannot be combined"),
            ("get http://a -o out --overwrite --update", "--update and --overwrite cannot be combined"),
            ("get http://a -o out --skip-existing --overwrite", "--skip-existing and --overwrite cannot be combined"),
            ("get http://a -o", "Missing value for -o."), ("get http://a -o out --siz 3x3", "Did you mean --size"),
            ("get http://a -o out --bogus", "--bogus"), ("get http://a -x", "\"-x\"."),
            ("get http://a -o out --raw=1", "--raw takes no value"),
            ("get http://a -o out --size 0x5", "--size"), ("get http://a -o out --size x", "\"x\""),
            ("get http://a -o out --size 12", "\"12\""), ("get http://a -o out --size 1x2x3", "--size"),
            ("get http://a -o out --size -1x2", "--size"),
            ("get http://a -o out --size 99999999999999999999x2", "--size"),
            ("get http://a -o out --fit cover", "--fit"), ("get http://a -o out --enlarge", "--enlarge"),
            ("get http://a -o out --size 3x3 --fit squeeze", "\"squeeze\""),
            ("get http://a -o out --shortest 0", "--shortest"), ("get http://a -o out --shortest 3x3", "\"3x3\""),
            ("get http://a -o out --shortest 3 --size 3x3", "--shortest and --size cannot be combined"),
            ("get http://a -o out --shortest 3 --fit cover", "--shortest and --fit cannot be combined"),
            ("get http://a -o out --keep-smaller", "--keep-smaller requires --size or --shortest"),
            ("get http://a -o out --size 3x3 --keep-smaller --enlarge", "--keep-smaller and --enlarge"),
            ("get http://a -o out --size 60000x60000 --fit pad", "--fit pad exceeds the limit"),
            ("get http://a -o out --raw --shortest 3", "--raw and --shortest"),
            ("get http://a -o out --format gif", "keep, jpeg, jpg, png, webp or avif"),
            ("get http://a -o out --lossless", "--format webp"),
            ("get http://a -o out --lossless --format webp --quality 9", "cannot be combined"),
            ("get http://a -o out --quality 0", "1 to 100"), ("get http://a -o out --quality 101", "1 to 100"),
            ("get http://a -o out --background red", "--background"),
            ("get http://a -o out --raw --size 3x3", "--raw"), ("get http://a -o out --any --verify", "--any"),
            ("get http://a -o out --any --raw", "--any"), ("get http://a -o out --any --format png", "--format"),
            ("get http://a -o out --quiet --verbose", "cannot be combined"),
            ("get http://a -o out --concurrency 0", "--concurrency"),
            ("get http://a -o out --per-host x", "--per-host"), ("get http://a -o out --timeout 0", "--timeout"),
            ("get http://a -o out --timeout nan", "--timeout"), ("get http://a -o out --max-bytes -5", "--max-bytes"),
            ("get http://a -o out --min-rate -1", "--min-rate"),
            ("get http://a -o out --max-in-flight -1", "--max-in-flight"),
            ("get http://a -o out --max-pixels 1e5", "--max-pixels"),
            ("get http://a -o out --max-redirects -1", "--max-redirects"),
            ("get http://a -o out --header nothing", "no colon"), ("get http://a -o out --header b_d:_x", "\"b d\""),
            ("get http://a -o out --header-for a/b X:_y", "--header-for"),
            ("get http://a -o out --header-for a", "Usage: --header-for HOST"),
            ("get - -o out", "-i -"),
            ("get http://a -o out --size 60000x60000 --enlarge", "--max-pixels"),
            ("batch a.txt -o out --format png --layout parquet", "parquet is written by the Python package"),
            ("batch a.txt -o out --format png --layout tar", "Expected webdataset, files or hashed."),
            ("man gte", "\"gte\". Commands: get, batch, info, show, cache, lab, man and completions."),
            ("man get info", "\"info\""), ("completions", "Specify bash, zsh or fish."),
            ("completions tcsh", "\"tcsh\". Shells: bash, zsh and fish."), ("completions zsh fish", "\"fish\""),
            ("cache", "stat, list, verify or clear"), ("cache --json", "stat, list, verify or clear"),
            ("cache verfy", "Did you mean verify"), ("cache bogus", "\"bogus\""), ("cache stat dir", "--cache"),
            ("cache clear http://a/b", "--url"), ("cache clear --url cat.jpg", "\"cat.jpg\""),
            ("cache clear --host a.org:80", "without a port"), ("cache clear --host a/b", "--host"),
            ("cache clear --older-than 7", "\"7\""), ("cache clear --older-than d", "\"d\""),
            ("cache clear --older-than -7d", "\"-7d\""), ("cache clear --older-than 7y", "\"7y\""),
            ("cache clear --older-than 9999999999d", "--older-than"),
            ("cache clear --host a --url http://a/", "--host and --url cannot be combined"),
            ("cache list --host a", "--host can only be used with clear"),
            ("cache stat --cache=", "--cache"), ("cache stat --jsn", "Did you mean --json"),
            ("get http://a -o out --raw --keep-metadata", "--raw"),
            ("get http://a -o out --any --keep-metadata", "--any"),
            ("get http://a -o out --format avif --keep-metadata", "avif"),
            ("get http://a -o out --page 0", "--page"), ("get http://a -o out --raw --page 2", "--page"),
            ("info a --page x", "--page"), ("info --formats --page 2", "--formats"),
            ("info", "at least one"), ("info --formats a", "--formats"), ("info --formats --exif", "--formats"),
            ("info --formats=yes", "no value"),
            ("info a --size 3x3", "--size"), ("info a --max-pixels 5", "Unknown option"),
            ("show", "at least one"), ("show a --json", "inflight info"), ("show a --size 3", "columns and lines"),
            ("show a --size 0x3", "\"0x3\""), ("show a --mode sixel", "auto, kitty or blocks"),
            ("show a --colors many", "truecolor, 256 or none"), ("show a --still --loop 2", "cannot be combined"),
            ("show a --mode kitty --colors 256", "half blocks"), ("show a --loop 0", "--loop"),
            ("show a --columns 0", "--columns"), ("show a --background red", "--background"),
            ("show a --still=1", "no value"), ("show a --colums 3", "--columns"),
            ("lab serail", "Did you mean serial?"), ("lab something", "inflight lab --list"),
            ("lab --lis", "Did you mean --list?"), ("lab --svg", "Missing value for --svg."),
            ("lab --svg=", "name of a file"), ("lab --list race", "--list"),
            ("lab --json=1", "takes no value"), ("lab --list --svg a", "--list"),
        ])
    func wrongUse(_ line: String, _ part: String) throws {
        let message = try #require(Command.complaint(line, terminal: line.hasPrefix("show")))
        #expect(message.contains(part), "\(message)")
        #expect(!message.contains("\n"))
    }

    @Test("get refuses to write an image to a terminal")
    func terminal() {
        #expect(Command.complaint("get http://a", terminal: true)?.contains("terminal") == true)
        #expect(Command.complaint("get http://a", terminal: false) == nil)
        #expect(Command.complaint("get http://a --discard", terminal: true) == nil)
    }

    @Test("A usage error never repeats a secret field value")
    func secrets() {
        let message = Command.complaint("get http://a -o out --header Auth\u{1}orization:_s3cret")
        #expect(message != nil && message?.contains("s3cret") == false)
        #expect(message?.contains("\u{1}") == false)
    }

    @Test(
        "An invalid processing step is a usage error that shows the expected form",
        arguments: [
            ("blurr:4", "Unknown step \"blurr\""), ("", "Unknown step \"\""), ("grey,", "Unknown step \"\""),
            ("blur", "\"blur\" in --process. Expected blur:RADIUS."), ("blur:x", "Expected blur:RADIUS."),
            ("blur:1001", "\"1001\" for blur in --process. Expected a number from 0 to 1,000."),
            ("blur:-1", "from 0 to 1,000"), ("blur:1e3", "blur:RADIUS"),
            ("blur:nan", "blur:RADIUS"), ("grey:1", "Expected grey."),
            ("crop:3x", "crop:WxH[:GRAVITY] or crop:WxH+X+Y"),
            ("crop:3x4+5", "crop:WxH+X+Y"), ("crop:3x4+-5+1", "crop:WxH+X+Y"), ("crop:3x4+5+6:top", "crop:WxH+X+Y"),
            ("crop:0x4", "WIDTHxHEIGHT"), ("flip:sideways", "horizontal or vertical"),
            ("border:2", "border:WIDTH:COLOUR"),
            ("border:2:blue", "a colour, such as"), ("flatten:clear", "opaque"), ("circle:3", "circle[:BORDER:COLOUR]"),
            ("resize:3x4:cover:middle", "center, top"),
        ] as [(String, String)])
    func badProcess(text: String, words: String) throws {
        let message = try #require(Command.complaint("get http://a -o out --process=\(text)"))
        #expect(message.contains(words), "\(message)")
    }

    @Test("--checksum contradicts the options that re-encode the image, and the error names both")
    func checksum() {
        let sum = String(repeating: "0", count: 64)
        let message = Command.complaint("get http://a -o out --checksum sha256:\(sum) --size 3x3")
        #expect(message?.contains("--checksum and --size cannot be combined") == true)
    }

    @Test("A usage error names the command whose help applies")
    func command() throws {
        let error = try #require(throws: UsageError.self) { try Command.parse(line: "lab --lis") }
        #expect(error.command == "lab")
    }

    @Test("show without a terminal is a usage error that suggests get")
    func pipe() {
        #expect(Command.complaint("show a.jpg")?.contains("inflight get URL > FILE") == true)
    }
}

extension Command {
    /// Parses space-separated arguments; `_` stands for a space within an argument.
    static func parse(line: String, terminal: Bool = false) throws(UsageError) -> Command {
        let arguments = line.split(separator: " ").map { String($0).replacing("_", with: " ") }
        return try parse(arguments, standardOutputIsTerminal: terminal)
    }

    /// The message of the usage error that the arguments cause, if any.
    static func complaint(_ line: String, terminal: Bool = false) -> String? {
        do throws(UsageError) {
            _ = try parse(line: line, terminal: terminal)
            return nil
        } catch {
            return error.message
        }
    }
}
