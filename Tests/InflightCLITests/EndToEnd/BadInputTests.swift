import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// The results that a user sees for each kind of bad input.
@Suite(.timeLimit(.minutes(10)))
final class BadInputTests: EndToEndSuite {
    private let small: Bytes

    override init() throws {
        small = try TestImages.make(.jpeg, 8, 8)
        try super.init()
        server.serve("/good.jpg", .ok(small, type: "image/jpeg"))
        server.serve("/large.jpg", .ok(jpeg, type: "image/jpeg"))
    }

    /// Returns the failure of one URL, and checks that a valid URL beside it is stored.
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
            place.files(in: "out") == ["good.jpg"], "nothing is left of what failed",
            sourceLocation: sourceLocation)
        let line = try #require(lines.first, sourceLocation: sourceLocation)
        #expect(line.file == nil && line.from == nil, sourceLocation: sourceLocation)
        #expect(line.error?.message.isEmpty == false, sourceLocation: sourceLocation)
        return line
    }

    @Test(
        "A list with an endless line is refused at a size limit, with the line number",
        .enabled(if: !Sanitizer.isOn, "it is long, and reads lines in Swift alone"))
    func endlessLine() {
        let result = place.run("get", "-i", "/dev/zero", "--discard", "--json")
        #expect(result.status == 66)
        #expect(result.errors.contains("line 1 is longer than 16,777,216 bytes"), "\(result.errors)")
    }

    @Test(
        "An invalid URL or an unsupported scheme fails in the request stage",
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

    @Test("A connection that is refused, or closed before a response, fails as cannotConnect")
    func connections() throws {
        let gone = try LoopbackServer()
        let url = gone.url("/a.jpg")
        gone.stop()
        #expect(try failure(url).error?.code == "cannotConnect")
        server.serve("/closing", .closing)
        #expect(try failure(server.url("/closing")).error?.code == "cannotConnect")
    }

    @Test("A status without an image fails as badStatus", arguments: [404, 500, 204, 206, 304])
    func statuses(_ status: Int) throws {
        server.serve("/a.jpg", .status(status))
        let line = try failure(server.url("/a.jpg"))
        #expect(line.error?.code == "badStatus" && line.status == status)
    }

    @Test("A redirect without a target, to a file or in a loop fails as badRedirect")
    func redirects() throws {
        server.serve("/nowhere", .status(302))
        server.serve("/file", .redirect(to: "file:///etc/hostname"))
        server.serve("/loop", .redirect(to: "/loop"))
        for path in ["/nowhere", "/file", "/loop"] {
            #expect(try failure(server.url(path)).error?.code == "badRedirect", "\(path)")
        }
        // A loop is no matter of a limit.
        #expect(server.requests(of: "/loop").count == 1)
        let message = try failure(server.url("/loop")).error?.message ?? ""
        #expect(message.contains("loop") && !message.contains("--max-redirects"), "\(message)")
    }

    @Test("Cookies of redirects that are malformed, too long, too many or for other hosts do not fail a load")
    func cookies() throws {
        var flood = LoopbackServer.Response.redirect(to: "/good.jpg")
        for number in 0..<2000 { flood.fields.append("Set-Cookie", "c\(number)=\(String(repeating: "v", count: 99))") }
        server.serve("/flood", flood)
        server.serve(
            "/odd",
            .redirect(to: "/good.jpg").field("Set-Cookie", "=").field("Set-Cookie", "a")
                .field("Set-Cookie", "b=" + String(repeating: "v", count: 5000)).field("Set-Cookie", "c=\u{1}d")
                .field("Set-Cookie", "d=1; Domain=example.org").field("Set-Cookie", "e=1; Path=/other"))
        server.serve("/nul", .redirect(to: "/good.jpg").rawLine("Set-Cookie: a=\u{0}b"))
        for (path, count) in [("/flood", 50), ("/odd", 0)] {
            let result = place.run("get", server.url(path), "--discard", "--no-cache", "--json")
            #expect(try result.lines.first?.outcome == "ok", "\(path): \(result.errors)")
            let sent = server.requests(of: "/good.jpg").last?.fields["Cookie"] ?? ""
            #expect(sent.split(separator: "; ").count == count, "\(path)")
        }
        // libcurl refuses the head.
        #expect(try failure(server.url("/nul")).error?.code == "badResponse")
    }

    @Test("Redirects are followed up to --max-redirects")
    func redirectLimit() throws {
        server.serve("/r2.jpg", .redirect(to: "/r1.jpg"))
        server.serve("/r1.jpg", .redirect(to: "/good.jpg"))
        let result = place.run("get", server.url("/r2.jpg"), "--max-redirects", "2", "--discard", "--json")
        #expect(try result.lines.first?.outcome == "ok")
        #expect(try result.lines.first?.finalURL == server.url("/good.jpg"))
        #expect(try failure(server.url("/r2.jpg"), "--max-redirects", "1").error?.code == "badRedirect")
    }

    @Test("A body that is too short or reset fails as truncated")
    func truncated() throws {
        server.serve("/short", .ok(jpeg).claiming(contentLength: Int64(jpeg.count) + 10))
        server.serve("/reset", .ok(jpeg).reset(after: jpeg.count / 2))
        for path in ["/short", "/reset"] {
            #expect(try failure(server.url(path)).error?.code == "truncated", "\(path)")
        }
    }

    @Test("A body over --max-bytes fails, declared or not, and a body at the limit is stored")
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

    @Test("Raw text, an oversized head and an invalid coding fail as badResponse")
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

    @Test("--timeout fails a load that takes too long as timedOut")
    func timeout() throws {
        server.serve("/never", .ok(jpeg).held("never", after: 10))
        let line = try failure(server.url("/never"), "--timeout", "0.3")
        #expect(line.error?.code == "timedOut")
    }

    @Test("A web page fails as notAnImage with its media type, and so does an empty body")
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

    @Test("A truncated image file fails as damaged", arguments: ["jpeg", "png", "webp", "gif"])
    func damaged(_ format: String) throws {
        let bytes = format == "gif" ? TestImages.gif : try TestImages.make(ImageFormat(rawValue: format), 60, 40)
        let cut = Array(bytes.array.prefix(bytes.count - (format == "gif" ? 4 : bytes.count / 3)))
        server.serve("/cut", .ok(Bytes(cut)))
        #expect(try failure(server.url("/cut")).error?.code == "damaged")
        #expect(try failure(server.url("/cut"), "--size", "9x").error?.code == "damaged")
    }

    @Test("An image without its end marker is whole if its transfer had a length, and otherwise truncated")
    func endMarkers() throws {
        for (name, image, missing) in [
            ("a.jpg", try TestImages.make(.jpeg, 60, 40), 2), ("a.gif", TestImages.gif, 1),
        ] {
            let cut = Bytes(Array(image.array.dropLast(missing)))
            server.serve("/length/\(name)", .ok(cut))
            server.serve("/chunks/\(name)", .ok(cut).chunked([7]))
            server.serve("/marker/\(name)", .ok(image).untilClose())
            server.serve("/end/\(name)", .ok(cut).untilClose())
            for options in [[], ["--verify"], ["--size", "9x"]] {
                for kind in ["length", "chunks", "marker"] {
                    let result = place.run(["get", server.url("/\(kind)/\(name)"), "--discard", "--json"] + options)
                    #expect(result.status == 0, "\(kind) \(name) \(options): \(result.errors)")
                }
                let line = try failure(server.url("/end/\(name)"), options: options)
                #expect(line.error?.code == "damaged")
                #expect(line.error?.message.contains("is truncated") == true)
            }
        }
    }

    @Test("--verify and --size find corrupt pixel data behind a valid structure")
    func verify() throws {
        // The compressed data is replaced, and all checksums of the chunks are valid.
        let empty = TestImages.hugePNG(60, 40)
        server.serve("/empty.png", .ok(empty))
        for options in [["--verify"], ["--size", "9x"]] {
            #expect(try failure(server.url("/empty.png"), options: options).error?.code == "damaged")
        }
        let raw = place.run("get", server.url("/empty.png"), "-o", "raw", "--raw")
        #expect(raw.status == 0)
        #expect(place.holds("raw/empty.png", empty.array))
    }

    @Test("A known format without a decoder fails as unsupportedFormat")
    func unsupported() throws {
        let psd = Array("8BPS".utf8) + [0, 1] + [UInt8](repeating: 0, count: 20)
        server.serve("/a.psd", .ok(Bytes(psd), type: "image/vnd.adobe.photoshop"))
        #expect(try failure(server.url("/a.psd")).error?.code == "unsupportedFormat")
    }

    @Test("An image with too many pixels fails whether it is stored, verified or resized")
    func tooManyPixels() throws {
        server.serve("/huge.png", .ok(TestImages.hugePNG(100_000, 100_000)))
        for options in [[], ["--verify"], ["--size", "10x"]] {
            let result = place.run(["get", server.url("/huge.png"), "-o", "out", "--json"] + options)
            #expect(try result.lines.first?.error?.code == "tooManyPixels", "\(options)")
        }
        #expect(try failure(server.url("/large.jpg"), "--max-pixels", "2399").error?.code == "tooManyPixels")
    }

    @Test(
        "An image that declares 2^31 - 1 pixels per side fails even if --max-pixels allows it",
        arguments: [[], ["--verify"], ["--size", "10x"]])
    func anyPixels(_ options: [String]) throws {
        server.serve("/huge.png", .ok(TestImages.hugePNG(0x7FFF_FFFF, 0x7FFF_FFFF)))
        let line = try failure(server.url("/huge.png"), "--max-pixels", "\(Int.max)", options: options)
        #expect(line.error?.code == "tooManyPixels")
    }

    @Test("An image with exactly --max-pixels pixels is within the limit")
    func pixelLimit() {
        #expect(place.run("get", server.url("/large.jpg"), "-o", "out", "--max-pixels", "2400").status == 0)
    }

    @Test("--public-only refuses addresses of this machine, given as numbers or as a name")
    func publicOnly() throws {
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
            let url = server.url("/good.jpg").replacing("127.0.0.1", with: host)
            let result = place.run("get", url, "--discard", "--json", "--public-only")
            #expect(result.status == 1)
            #expect(try result.lines.map(\.error?.code) == ["addressNotAllowed"], "\(host)")
        }
        #expect(server.requestCount == 0)
    }

    @Test("A missing local file fails as cannotRead")
    func missingFile() throws {
        #expect(try failure("file://" + place.appending("none.jpg")).error?.code == "cannotRead")
    }

    @Test("An output directory that cannot be written fails every URL without a request")
    func unwritable() throws {
        place.write("file", "x")
        for directory in ["file", "file/out", "/proc/nowhere"] {
            let result = place.run("get", server.url("/good.jpg"), server.url("/x.jpg"), "-o", directory, "--json")
            #expect(result.status == 1)
            #expect(try result.lines.map(\.error?.code) == ["cannotWrite", "cannotWrite"])
            #expect(try result.lines.first?.error?.stage == "store")
        }
        #expect(server.requestCount == 0)
    }

    @Test(
        "A file that cannot be written completely fails and leaves nothing behind",
        .enabled(if: !Sanitizer.isOn, "a sanitizer has files of its own, which the limit hits first"))
    func noRoom() throws {
        // The maximum file size is one block of 512 bytes, so writing stops in the middle, as on a full disk.
        let result = place.run(
            ["get", server.url("/large.jpg"), "-o", "out", "--json"], prefix: "mkdir out; ulimit -f 1")
        #expect(result.status == 1)
        #expect(try result.lines.first?.error?.code == "cannotWrite")
        #expect(place.files(in: "out") == [])
    }

    @Test("get reports a full disk behind standard output as a failure")
    func fullOutput() {
        let result = place.run(["get", server.url("/good.jpg")], prefix: "exec > /dev/full")
        #expect(result.status == 1)
        #expect(result.errors.contains("cannotWrite"))
        let json = place.run(["get", server.url("/good.jpg"), "--discard", "--json"], prefix: "exec > /dev/full")
        #expect(json.status == 1)
        #expect(json.errors.contains("Cannot write to standard output"))
        #expect(!json.errors.contains("Done:"))
    }

    @Test("info, help and version report a full disk behind standard output as a failure")
    func fullOutputElsewhere() {
        for arguments in [["info", server.url("/good.jpg")], ["--help"], ["get", "--help"], ["--version"]] {
            let result = place.run(arguments, prefix: "exec > /dev/full")
            #expect(result.status == 1, "\(arguments)")
            #expect(result.errors.hasPrefix("inflight: Cannot write to standard output"), "\(arguments)")
        }
    }

    @Test("A list line that is too long or not UTF-8 fails without affecting other lines")
    func badLines() throws {
        place.write(
            "list",
            Array(repeating: UInt8(ascii: "x"), count: 300_000) + Array("\nhttp://".utf8) + [0xFF, 0x0A]
                + Array(server.url("/good.jpg").utf8))
        let result = place.run("get", "-i", "list", "-o", "out", "--json")
        let lines = try result.lines
        #expect(lines.map(\.error?.code) == ["invalidURL", "invalidURL", nil])
        #expect(lines[0].url.count < 300)
    }

    @Test("Control characters from a server never reach the terminal")
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

    @Test("Passwords in URLs are not printed to standard error")
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

    @Test("An unreadable list or CA file ends get with 66 before anything is sent")
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

    @Test("An argument that is not UTF-8 is a usage error")
    func notUTF8() {
        for arguments in [["info"], ["get", server.url("/good.jpg"), "-o"]] {
            let result = place.run(arguments, prefix: "set -- \"$@\" \"$(printf 'caf\\351')\"")
            #expect(result.status == 64)
            #expect(result.errors.contains("is not valid UTF-8"))
        }
        #expect(place.names.isEmpty && server.requestCount == 0)
    }

    @Test("A usage error ends the command with 64 and a message")
    func wrongUse() {
        for arguments in [["get"], ["get", "--bogus"], ["bogus"], [], ["get", "http://a", "--size", "x"]] {
            let result = place.run(arguments)
            #expect(result.status == 64, "\(arguments)")
            #expect(result.errors.hasPrefix("inflight: ") && result.output.isEmpty)
        }
    }
}
