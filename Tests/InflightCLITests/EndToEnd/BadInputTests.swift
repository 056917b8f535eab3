import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// What the user sees of each thing that can be wrong.
@Suite(.timeLimit(.minutes(10)))
final class BadInputTests: EndToEndSuite {
    private let small: Bytes

    override init() throws {
        small = try Pictures.make(.jpeg, 8, 8)
        try super.init()
        server.serve("/good.jpg", .ok(small, type: "image/jpeg"))
        server.serve("/large.jpg", .ok(jpeg, type: "image/jpeg"))
    }

    /// The failure of one URL, while a good one beside it is stored all the same.
    private func failure(
        _ url: String, _ options: String..., options more: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Line {
        let options = options + more
        let result = place.run(["get", url, server.url("/good.jpg"), "-o", "out", "--json"] + options)
        #expect(result.status == 1, sourceLocation: sourceLocation)
        let lines = try result.lines
        #expect(lines.map(\.outcome) == ["failed", "ok"], sourceLocation: sourceLocation)
        if !options.contains("--size") {
            #expect(place.holds("out/good.jpg", small.array), sourceLocation: sourceLocation)
        }
        #expect(
            TemporaryDirectory.names(place.appending("out")) == ["good.jpg"], "nothing is left of what failed",
            sourceLocation: sourceLocation)
        let line = try #require(lines.first, sourceLocation: sourceLocation)
        #expect(line.file == nil && line.from == nil, sourceLocation: sourceLocation)
        #expect(line.error?.message.isEmpty == false, sourceLocation: sourceLocation)
        return line
    }

    @Test("A list whose line never ends is refused at a bound, with the number of the line")
    func endlessLine() {
        let result = place.run("get", "-i", "/dev/zero", "--discard", "--json")
        #expect(result.status == 66)
        #expect(result.errors.contains("Line 1 does not end within 16,777,216 bytes"), "\(result.errors)")
    }

    @Test(
        "What is no URL, or has another scheme, is refused before anything is sent",
        arguments: [
            ("example.org/cat.jpg", "invalidURL"), ("http://", "invalidURL"), ("http://a b/", "invalidURL"),
            ("http://host:99999/", "invalidURL"), ("http://h/\u{1}", "invalidURL"), ("", "invalidURL"),
            ("ftp://h/a.jpg", "unsupportedScheme"),
        ])
    func urls(_ url: String, _ code: String) throws {
        let line = try failure(url)
        #expect(line.error?.code == code && line.error?.stage == "request")
        #expect(line.url == url)
    }

    @Test("A refused connection, and one lost before any answer, cannot be connected")
    func connections() throws {
        let gone = try LoopbackServer()
        let url = gone.url("/a.jpg")
        gone.stop()
        #expect(try failure(url).error?.code == "cannotConnect")
        server.serve("/closing", .closing)
        #expect(try failure(server.url("/closing")).error?.code == "cannotConnect")
    }

    @Test("A status that carries no picture is told", arguments: [404, 500, 204, 206, 304])
    func statuses(_ status: Int) throws {
        server.serve("/a.jpg", .status(status))
        let line = try failure(server.url("/a.jpg"))
        #expect(line.error?.code == "badStatus" && line.status == status)
    }

    @Test("Redirects to nowhere, to a file, and too many of them are refused")
    func redirects() throws {
        server.serve("/nowhere", .status(302))
        server.serve("/file", .redirect(to: "file:///etc/hostname"))
        server.serve("/loop", .redirect(to: "/loop"))
        for path in ["/nowhere", "/file", "/loop"] {
            #expect(try failure(server.url(path)).error?.code == "badRedirect", "\(path)")
        }
    }

    @Test("As many redirects as the limit are followed, and no more")
    func redirectLimit() throws {
        server.serve("/r2.jpg", .redirect(to: "/r1.jpg"))
        server.serve("/r1.jpg", .redirect(to: "/good.jpg"))
        let result = place.run("get", server.url("/r2.jpg"), "--max-redirects", "2", "--discard", "--json")
        #expect(try result.lines.first?.outcome == "ok")
        #expect(try result.lines.first?.finalURL == server.url("/good.jpg"))
        #expect(try failure(server.url("/r2.jpg"), "--max-redirects", "1").error?.code == "badRedirect")
    }

    @Test("A body that is shorter than announced, or breaks off, is truncated")
    func truncated() throws {
        server.serve("/short", .ok(jpeg).claiming(contentLength: Int64(jpeg.count) + 10))
        server.serve("/reset", .ok(jpeg).reset(after: jpeg.count / 2))
        for path in ["/short", "/reset"] {
            #expect(try failure(server.url(path)).error?.code == "truncated", "\(path)")
        }
    }

    @Test("A body beyond the limit is too large, announced or not; one at the limit is not")
    func tooLarge() throws {
        server.serve("/big", .ok(jpeg))
        server.serve("/chunked", .ok(jpeg).chunked([100]))
        server.serve("/endless", .endless())
        for path in ["/big", "/chunked", "/endless"] {
            let line = try failure(server.url(path), "--max-bytes", "\(jpeg.count - 1)", "--any")
            #expect(line.error?.code == "tooLarge", "\(path)")
        }
        let result = place.run("get", server.url("/chunked"), "-o", "out", "--max-bytes", "\(jpeg.count)")
        #expect(result.status == 0)
    }

    @Test("What is no HTTP, and heads without end, are bad responses")
    func badResponses() throws {
        server.serve("/raw", .raw("hello there\r\n\r\n"))
        var long = LoopbackServer.Response.ok(jpeg)
        for number in 0..<300 { long = long.field("X-\(number)", String(repeating: "x", count: 1000)) }
        server.serve("/long", long)
        server.serve("/coding", .ok(jpeg).field("Content-Encoding", "gzip"))
        for path in ["/raw", "/long", "/coding"] {
            #expect(try failure(server.url(path)).error?.code == "badResponse", "\(path)")
        }
    }

    @Test("--timeout ends a load that takes too long")
    func timeout() throws {
        server.serve("/never", .ok(jpeg).held("never", after: 10))
        let line = try failure(server.url("/never"), "--timeout", "0.3")
        #expect(line.error?.code == "timedOut")
    }

    @Test("A page in place of a picture is told with what the server called it; an empty body too")
    func noPictures() throws {
        server.serve("/page.jpg", .ok(Bytes("<!doctype html><h1>hi</h1>"), type: "text/html; charset=utf-8"))
        server.serve("/empty.jpg", .ok(.empty, type: "image/jpeg"))
        let page = try failure(server.url("/page.jpg"))
        #expect(page.error?.code == "notAnImage" && page.status == 200)
        #expect(page.error?.message.contains("text/html") == true)
        #expect(page.bytes == 26 && page.wireBytes == 26 && page.format == nil)
        #expect(try failure(server.url("/page.jpg"), "--size", "9x").error?.message.contains("text/html") == true)
        #expect(try failure(server.url("/empty.jpg")).error?.code == "notAnImage")
    }

    @Test("A picture that is cut, or whose data is broken, is damaged", arguments: ["jpeg", "png", "webp", "gif"])
    func damaged(_ format: String) throws {
        let bytes = format == "gif" ? Pictures.gif : try Pictures.make(ImageFormat(rawValue: format), 60, 40)
        let cut = Array(bytes.array.prefix(bytes.count - (format == "gif" ? 4 : bytes.count / 3)))
        server.serve("/cut", .ok(Bytes(cut)))
        #expect(try failure(server.url("/cut")).error?.code == "damaged")
        #expect(try failure(server.url("/cut"), "--size", "9x").error?.code == "damaged")
    }

    @Test("--verify finds broken data that the structure does not show")
    func verify() throws {
        // The compressed data is replaced, and every checksum of the structure is right.
        let empty = Pictures.hugePNG(60, 40)
        server.serve("/empty.png", .ok(empty))
        #expect(try failure(server.url("/empty.png"), "--verify").error?.code == "damaged")
        let raw = place.run("get", server.url("/empty.png"), "-o", "raw", "--raw")
        #expect(raw.status == 0)
        #expect(place.holds("raw/empty.png", empty.array))
    }

    @Test("A format that is known, and that nothing here reads, is unsupported")
    func unsupported() throws {
        let psd = Array("8BPS".utf8) + [0, 1] + [UInt8](repeating: 0, count: 20)
        server.serve("/a.psd", .ok(Bytes(psd), type: "image/vnd.adobe.photoshop"))
        #expect(try failure(server.url("/a.psd")).error?.code == "unsupportedFormat")
    }

    @Test("A hundred thousand pixels each way in a small file are too many, in every treatment")
    func tooManyPixels() throws {
        server.serve("/huge.png", .ok(Pictures.hugePNG(100_000, 100_000)))
        for options in [[], ["--verify"], ["--size", "10x"]] {
            let result = place.run(["get", server.url("/huge.png"), "-o", "out", "--json"] + options)
            #expect(try result.lines.first?.error?.code == "tooManyPixels", "\(options)")
        }
        #expect(try failure(server.url("/large.jpg"), "--max-pixels", "2399").error?.code == "tooManyPixels")
    }

    @Test(
        "However many pixels are allowed, no header ends the command",
        arguments: [[], ["--verify"], ["--size", "10x"]])
    func anyPixels(_ options: [String]) throws {
        server.serve("/huge.png", .ok(Pictures.hugePNG(0x7FFF_FFFF, 0x7FFF_FFFF)))
        let line = try failure(server.url("/huge.png"), "--max-pixels", "\(Int.max)", options: options)
        #expect(line.error?.code == "tooManyPixels")
    }

    @Test("Exactly as many pixels as allowed are within the limit")
    func pixelLimit() {
        #expect(place.run("get", server.url("/large.jpg"), "-o", "out", "--max-pixels", "2400").status == 0)
    }

    @Test("With --public-only an address of this machine is not connected to, by number and by name")
    func publicOnly() throws {
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
            let url = server.url("/good.jpg").replacing("127.0.0.1", with: host)
            let result = place.run("get", url, "--discard", "--json", "--public-only")
            #expect(result.status == 1)
            #expect(try result.lines.map(\.error?.code) == ["addressNotAllowed"], "\(host)")
        }
        #expect(server.requestCount == 0)
    }

    @Test("A local file that is not there cannot be read")
    func missingFile() throws {
        #expect(try failure("file://" + place.appending("none.jpg")).error?.code == "cannotRead")
    }

    @Test("A directory that cannot be written fails every URL without asking for any")
    func unwritable() throws {
        place.write("file", "x")
        for directory in ["file", "file/out", "/proc/nowhere"] {
            let result = place.run("get", server.url("/good.jpg"), "-o", directory, "--json")
            #expect(result.status == 1)
            #expect(try result.lines.map(\.error?.code) == ["cannotWrite"])
            #expect(try result.lines.first?.error?.stage == "store")
        }
        #expect(server.requestCount == 0)
    }

    @Test(
        "A file that cannot be written whole is a failure, and nothing is left of it",
        .enabled(if: !Sanitizer.isOn, "a sanitizer has files of its own, which the limit hits first"))
    func noRoom() throws {
        // One block of 512 bytes, and no file may grow beyond: as on a full disk, writing stops in the middle.
        let result = place.run(
            ["get", server.url("/large.jpg"), "-o", "out", "--json"], prefix: "mkdir out; ulimit -f 1")
        #expect(result.status == 1)
        #expect(try result.lines.first?.error?.code == "cannotWrite")
        #expect(TemporaryDirectory.names(place.appending("out")) == [])
    }

    @Test("A full disk behind standard output is a failure as well")
    func fullOutput() {
        let result = place.run(["get", server.url("/good.jpg")], prefix: "exec > /dev/full")
        #expect(result.status == 1)
        #expect(result.errors.contains("cannotWrite"))
        let json = place.run(["get", server.url("/good.jpg"), "--discard", "--json"], prefix: "exec > /dev/full")
        #expect(json.status == 1)
        #expect(json.errors.contains("Standard output cannot be written"))
        #expect(!json.errors.contains("All well"))
    }

    @Test("A full disk behind what info, help and version print is told, and a failure")
    func fullOutputElsewhere() {
        for arguments in [["info", server.url("/good.jpg")], ["--help"], ["get", "--help"], ["--version"]] {
            let result = place.run(arguments, prefix: "exec > /dev/full")
            #expect(result.status == 1, "\(arguments)")
            #expect(result.errors.hasPrefix("inflight: Standard output cannot be written"), "\(arguments)")
        }
    }

    @Test("A line that is too long, or not UTF-8, is an error of its own and harms no other")
    func badLines() throws {
        place.write(
            "list",
            Array(repeating: UInt8(ascii: "x"), count: 300_000) + Array("\nhttp://h/".utf8) + [0xFF, 0x0A]
                + Array(server.url("/good.jpg").utf8))
        let result = place.run("get", "-i", "list", "-o", "out", "--json")
        let lines = try result.lines
        #expect(lines.map(\.error?.code) == ["invalidURL", "invalidURL", nil])
        #expect(lines[0].url.count < 300)
    }

    @Test("What a server sends never reaches the terminal as control characters")
    func controlCharacters() throws {
        let evil = "text/\u{1B}[2J\u{9B}31m\u{7}html"
        server.serve("/evil", .ok(Bytes("<html>"), type: evil))
        server.serve("/moved", .redirect(to: "http://h\u{1B}[2J/"))
        let result = place.run(
            "get", server.url("/evil"), server.url("/moved"), "http://x\u{1B}]0;title\u{7}/", "-o", "out", "--verbose")
        #expect(result.status == 1)
        #expect(!result.errors.unicodeScalars.contains { TerminalText.isUnsafe($0) && $0 != "\n" }, "\(result.errors)")
        let json = place.run("get", server.url("/evil"), "-o", "out", "--json")
        #expect(!json.text.unicodeScalars.contains { TerminalText.isUnsafe($0) && $0 != "\n" })
    }

    @Test("Passwords in URLs are not told on standard error")
    func secrets() {
        let url = server.url("/none").replacing("http://", with: "http://me:s3cret@")
        let result = place.run("get", url, "-o", "out", "--verbose")
        #expect(result.status == 1)
        #expect(!result.errors.contains("s3cret"))
        for arguments in [["get", "-o", "out"], ["info"]] {
            for url in ["https://me:s3cret@h:99999/a.jpg", "https://me:s3cret@h/\u{1}", "me:s3cret@h"] {
                let malformed = place.run(arguments + [url])
                #expect(malformed.status == 1)
                #expect(!malformed.errors.contains("s3cret") || url == "me:s3cret@h" && arguments == ["info"], "\(url)")
            }
        }
    }

    @Test("A list or a CA file that cannot be read ends it with 66 before anything is sent")
    func noInput() {
        place.write("empty.pem", "")
        for arguments in [
            ["-i", "none"], ["-i", "."], ["--cacert", "none.pem"], ["--cacert", "."], ["--cacert", "empty.pem"],
        ] {
            let result = place.run(["get", server.url("/good.jpg"), "-o", "out"] + arguments)
            #expect(result.status == 66, "\(arguments)")
            #expect(result.errors.hasPrefix("inflight: "))
        }
        #expect(server.requestCount == 0)
        #expect(!place.names.contains("out"))
    }

    @Test("An argument that is not UTF-8 is wrong use: it would be taken for another file")
    func notUTF8() {
        for arguments in [["info"], ["get", server.url("/good.jpg"), "-o"]] {
            let result = place.run(arguments, prefix: "set -- \"$@\" \"$(printf 'caf\\351')\"")
            #expect(result.status == 64)
            #expect(result.errors.contains("is not UTF-8"))
        }
        #expect(place.names.isEmpty && server.requestCount == 0)
    }

    @Test("Wrong use ends with 64 and a line that names it")
    func wrongUse() {
        for arguments in [["get"], ["get", "--bogus"], ["bogus"], [], ["get", "http://a", "--size", "x"]] {
            let result = place.run(arguments)
            #expect(result.status == 64, "\(arguments)")
            #expect(result.errors.hasPrefix("inflight: ") && result.output.isEmpty)
        }
    }
}
