import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("robots.txt files", .timeLimit(.minutes(2)))
struct RobotsFileTests {
    private func file(_ text: String, token: String = "FooBot", maximumDelay: Duration = .seconds(60)) -> RobotsFile {
        RobotsFile(Array(text.utf8), productToken: token, maximumCrawlDelay: maximumDelay)
    }

    private func rules(_ lines: String...) -> RobotsFile {
        file("user-agent: FooBot\n" + lines.map { $0 + "\n" }.joined())
    }

    @Test("Lines end with LF, CR or CR LF", arguments: ["\n", "\r", "\r\n"])
    func lineEnds(end: String) {
        let lines = ["# comment", "User-Agent: foo", "Allow: /some/path", "User-Agent: bar", "", "", "Disallow: /"]
        let text = lines.joined(separator: end)
        #expect(!file(text, token: "bar").allows("/x"))
        #expect(file(text, token: "foo").allows("/x"))
    }

    @Test("A byte order mark, white space, case of names, comments and missing colons do not matter")
    func leniency() {
        #expect(!file("\u{FEFF}user-agent: FooBot\ndisallow: /").allows("/x"))
        #expect(!file(" \tUSER-AGENT \t: FooBot \t# us\n dIsAlLoW : /x # not y\n").allows("/x"))
        #expect(!file("user-agent FooBot\ndisallow /\n").allows("/x"))
        #expect(!file("user-agent: FooBot\ndisalow: /\n").allows("/x"))
        #expect(file("foo: FooBot\nbar: /\n").allows("/x"))
        #expect(rules("disallow: /foo/quz#qux").allows("/foo/qu"))
        #expect(!rules("disallow: /foo/quz#qux").allows("/foo/quz"))
    }

    private static let groups = """
        allow: /foo/bar/

        user-agent: FooBot
        disallow: /
        allow: /x/
        user-agent: BarBot
        disallow: /
        allow: /y/


        allow: /w/
        user-agent: BazBot

        user-agent: FooBot
        allow: /z/
        disallow: /
        """

    @Test(
        "Groups for one token are merged, consecutive user-agent lines share rules, rules outside groups are ignored",
        arguments: [
            ("FooBot", "/x/b", true), ("FooBot", "/z/d", true), ("FooBot", "/y/c", false), ("BarBot", "/y/c", true),
            ("BarBot", "/w/a", true), ("BarBot", "/z/d", false), ("BazBot", "/z/d", true),
            ("FooBot", "/foo/bar/", false), ("BarBot", "/foo/bar/", false), ("BazBot", "/foo/bar/", false),
        ])
    func groups(token: String, path: String, isAllowed: Bool) {
        #expect(file(Self.groups, token: token).allows(path) == isAllowed)
    }

    @Test("The groups for * apply only if no group names the token, even one without rules")
    func fallback() {
        let text = "user-agent: *\ndisallow: /x\nuser-agent: FooBot\ndisallow: /y\nuser-agent: *\ndisallow: /z\n"
        #expect(file(text).allows("/x"))
        #expect(!file(text).allows("/y"))
        #expect(!file(text, token: "QuxBot").allows("/x"))
        #expect(!file(text, token: "QuxBot").allows("/z"))
        #expect(file("user-agent: FooBot\ndisallow:\nuser-agent: *\ndisallow: /\n").allows("/x"))
        #expect(file("user-agent: BarBot\ndisallow: /\n").allows("/x"))
        #expect(!file("user-agent: *\ndisallow: /\n", token: "").allows("/x"))
    }

    @Test("The product token is compared as a whole, without case, and ends before its version")
    func tokens() {
        #expect(!file("user-agent: fOObOT/2.1\ndisallow: /").allows("/"))
        #expect(!file("user-agent: FooBot Images\ndisallow: /").allows("/"))
        #expect(!file("user-agent: foobot\ndisallow: /", token: "FooBot/1.0").allows("/"))
        #expect(file("user-agent: FooBot-Images\ndisallow: /").allows("/"))
        #expect(file("user-agent: Foo\ndisallow: /").allows("/"))
        #expect(file("user-agent: *FooBot\ndisallow: /").allows("/"))
    }

    @Test("Other records do not end a group")
    func otherRecords() {
        let text = "user-agent: FooBot\nsitemap: https://x/\nuser-agent: BarBot\nhost: x\ncrawl-delay: 1\ndisallow: /\n"
        #expect(!file(text).allows("/x"))
        #expect(!file(text, token: "BarBot").allows("/x"))
        #expect(!file("user-agent: FooBot\ncrawl-delay: 1\nuser-agent: BarBot\ndisallow: /").allows("/x"))
        #expect(!file("user-agent: FooBot\nallow: /x\nsitemap: /\ndisallow: /y").allows("/y"))
    }

    @Test(
        "The longest match decides, and allow wins a tie",
        arguments: [
            (["disallow: /x/page.html", "allow: /x/"], "/x/page.html", false),
            (["allow: /x/page.html", "disallow: /x/"], "/x/page.html", true),
            (["allow: /x/page.html", "disallow: /x/"], "/x/", false),
            (["disallow:", "allow:"], "/x", true), (["disallow:"], "/x", true),
            (["allow:", "disallow: /"], "/x", false),
            (["disallow: /", "allow: /"], "/x", true), (["disallow: /x", "allow: /x/"], "/x", false),
            (["disallow: /x", "allow: /x/"], "/x/", true),
            (["allow: /page", "disallow: /*.html"], "/page.html", false),
            (["allow: /page", "disallow: /*.html"], "/page", true),
            (["allow: /x/page.", "disallow: /*.html"], "/x/page.html", true),
            (["allow: /p", "disallow: /"], "/page", true),
            (["allow: /folder", "disallow: /folder"], "/folder/p", true),
            (["allow: /page", "disallow: /*.htm"], "/page.htm", false), (["allow: /$", "disallow: /"], "/", true),
            (["allow: /$", "disallow: /"], "/page.html", false), (["disallow: /X/"], "/x/y", true),
        ])
    func precedence(lines: [String], path: String, isAllowed: Bool) {
        #expect(file("user-agent: FooBot\n" + lines.joined(separator: "\n")).allows(path) == isAllowed)
    }

    @Test(
        "Patterns match from the start, * any octets, $ the end",
        arguments: [
            ("/fish", ["/fish", "/fish/salmon.html", "/fishheads?i=1"], ["/Fish", "/catfish", "/?fish"]),
            ("/fish*", ["/fish", "/fish.html", "/fishheads/yummy.html"], ["/Fish.bar", "/catfish", "/?id=fish"]),
            ("/fish/", ["/fish/", "/fish/?salmon"], ["/fish", "/fish.html", "/Fish/Salmon.html"]),
            ("/*.php", ["/f.php", "/a/f.php?x", "//a/any.php.html", "/index?f=f.php/"], ["/php/", "/w.PHP"]),
            ("/*.php$", ["/f.php", "/a/f.php", "/a.php.php"], ["/f.php?x", "/f.php/", "/f.php5", "/f?php"]),
            ("/fish*.php", ["/fish.php", "/fishheads/catfish.php?x"], ["/Fish.PHP", "/fish.ph"]),
            ("/foo/*/qux", ["/foo/bar/qux", "/foo//qux", "/foo/a/b/qux/c"], ["/foo/qux", "/foo/bar/quz"]),
            ("/foo/bar$", ["/foo/bar"], ["/foo/bar/", "/foo/bar/qux", "/foo/ba"]),
            ("*.gif$", ["/a.gif"], ["/a.gif?"]),
            ("/a*bc*bcd$", ["/abcbcd", "/abcbcbcd"], ["/abcd", "/abcbc"]), ("/a$b", ["/a$b"], ["/a", "/ab"]),
            ("$", [], ["/"]), ("*", ["/", "/x"], []), ("/**a", ["/a", "/xa"], ["/b"]), ("foo", [], ["/foo"]),
        ])
    func patterns(pattern: String, matching: [String], other: [String]) {
        let file = rules("disallow: " + pattern)
        for path in matching { #expect(!file.allows(path), "\(path)") }
        for path in other { #expect(file.allows(path), "\(path)") }
    }

    @Test(
        "Both sides are percent-encoded alike",
        arguments: [
            ("/foo/bar?baz=quz", "/foo/bar?baz=quz", true),
            ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", true),
            ("/foo/bar?baz=https%3a%2f%2ffoo.bar", "/foo/bar?baz=https://foo.bar", true),
            ("/foo?qux=taz&baz=http://foo.bar?tar&par", "/foo?qux=taz&baz=http://foo.bar?tar&par", true),
            ("/foo/bar/ツ", "/foo/bar/%E3%83%84", true), ("/foo/bar/%e3%83%84", "/foo/bar/ツ", true),
            ("/foo/bar/%62%61%7A", "/foo/bar/baz", true), ("/foo/bar/baz", "/foo/bar/%62%61%7a", true),
            ("/%7ejoe/", "/~joe/", true), ("/a%2Fb", "/a/b", false), ("/a/b", "/a%2fb", false),
            ("/a%2fb", "/a%2Fb", true), ("/*%2Fadmin", "/x?p=%2Fadmin", true), ("/*/admin", "/x?p=/admin", true),
            ("/my folder/", "/my%20folder/", true), ("/a-%2A.html", "/a-*.html", true),
            ("/a-%2A.html", "/a-b.html", false),
            ("/a%24", "/a$b", true), ("/a%24", "/a", false), ("/100%", "/100%", true), ("/%4", "/%4", true),
        ])
    func encoding(pattern: String, path: String, isMatch: Bool) {
        #expect(rules("disallow: " + pattern).allows(path) != isMatch)
    }

    @Test("Octets of a rule are counted after decoding")
    func octets() {
        #expect(rules("disallow: /foo/%62%61%7A", "allow: /foo/baz").allows("/foo/baz"))
        #expect(!rules("disallow: /ツ", "allow: /*****").allows("/ツ"))
        #expect(!rules("disallow: /foo?a=%3A", "allow: /foo?a=:").allows("/foo?a=:"))
    }

    @Test("/robots.txt is always allowed, a fragment is ignored, and an empty path is /")
    func paths() {
        let file = rules("disallow: /", "allow: /x$")
        #expect(file.allows("/robots.txt") && file.allows("/robots.txt#x") && file.allows("/x#y"))
        #expect(!file.allows("/robots.txt?x") && !file.allows("/robots.txtx") && !file.allows(""))
        #expect(!rules("disallow: /?q").allows("?q=1"))
    }

    @Test("HTML yields no rules")
    func html() {
        let rules = "\nUser-agent: *\nDisallow: /\n"
        #expect(file("\u{FEFF} \r\n<!DOCTYPE html><pre>" + rules).allows("/x"))
        #expect(!file("404 not found" + rules).allows("/x"))
    }

    @Test("The part beyond 500 KiB is ignored, and a line that it cuts is dropped")
    func sizeLimit() {
        let head = "user-agent: FooBot\n"
        let limit = RobotsFile.sizeLimit
        for (line, offset, isRead) in [
            ("disallow: /xyz", 0, true), ("disallow: /xyz", 1, false), ("disallow: /xyz", 15, false),
        ] {
            // The line ends `offset` bytes behind the limit.
            let filler = String(repeating: "#", count: limit - head.utf8.count - line.utf8.count - 1 + offset)
            let body = head + filler + "\n" + line + "\nallow: /xyz\n"
            #expect(file(body).allows("/xyz") == !isRead, "\(offset)")
            #expect(file(body).allows("/x"), "\(offset)")
        }
        let cut = RobotsFile(
            Array("\(head)disallow: /a\ndisallow: /b".utf8), productToken: "FooBot", maximumCrawlDelay: .zero,
            isTruncated: true)
        #expect(!cut.allows("/a"))
        #expect(cut.allows("/b"))
        let noLine = RobotsFile(Array("x".utf8), productToken: "a", maximumCrawlDelay: .zero, isTruncated: true)
        #expect(noLine.allows("/"))
    }

    @Test(
        "Crawl-delay is a decimal number, and at most the caller's maximum",
        arguments: [
            ("10", .seconds(10)), ("0.25", .milliseconds(250)), ("1.", .seconds(1)), (".5", .milliseconds(500)),
            ("99999999999999999999999", .seconds(60)), ("0", .zero), ("-1", nil), ("5s", nil), ("", nil), (".", nil),
            ("1.0000000019", .nanoseconds(1_000_000_001)),
        ] as [(String, Duration?)])
    func crawlDelay(value: String, expected: Duration?) {
        #expect(rules("crawl-delay: " + value).crawlDelay == expected)
    }

    @Test("Crawl-delay applies to the user agents before it, and the longest counts")
    func crawlDelayGroups() {
        let text = "user-agent: SlowBot\ncrawl-delay: 9\nuser-agent: FooBot\nCrawl-Delay: 3\ncrawl-delay: 2\nallow: /\n"
        #expect(file(text).crawlDelay == .seconds(3))
        #expect(file(text, token: "SlowBot").crawlDelay == .seconds(9))
        #expect(file(text, token: "QuxBot").crawlDelay == nil)
        #expect(file("user-agent: *\ncrawl-delay: 7").crawlDelay == .seconds(7))
    }

    @Test("A pattern with many wildcards costs no more than one search per wildcard")
    func wildcards() {
        let path = "/" + String(repeating: "a", count: 20_000)
        let file = rules("disallow: /" + String(repeating: "*a", count: 2_000) + "*b")
        var steps = RobotsFile.stepLimit
        var pattern: [UInt8] = []
        let source = Array(("/" + String(repeating: "*a", count: 2_000) + "*b").utf8)
        RobotsPattern.appendNormalized(source[...], isPattern: true, to: &pattern)
        #expect(!RobotsPattern.matches(pattern.span, Array(path.utf8).span, steps: &steps))
        #expect(RobotsFile.stepLimit - steps < 60_000)
        #expect(file.allows(path))
    }

    @Test("A file whose rules cost too much disallows the path")
    func tooExpensive() {
        let rule = "/*" + String(repeating: "a", count: 10_000) + "b"
        let file = rules("disallow: " + rule)
        #expect(file.allows("/" + String(repeating: "a", count: 9_000)))
        #expect(!file.allows("/" + String(repeating: "a", count: 20_000)))
    }

    @Test("Any bytes parse")
    func randomBytes() {
        var random = SeededGenerator(seed: 1)
        let alphabet = Array("user-agent:FooBot*\n\r\ndisallow: /%4$#?\u{FEFF}".utf8) + [0, 0xFF]
        for _ in 0..<500 {
            let body = (0..<200).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &random)] }
            let all = Array("user-agent: FooBot\ndisallow: ".utf8) + body
            let isCut = Bool.random(using: &random)
            let file = RobotsFile(all, productToken: "FooBot", maximumCrawlDelay: .zero, isTruncated: isCut)
            _ = file.allows(String(decoding: body, as: UTF8.self))
        }
    }
}
