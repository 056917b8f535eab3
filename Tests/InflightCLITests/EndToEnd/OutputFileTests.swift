import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// `inflight get` against a real server: stored files, their names and the reports.
@Suite(.timeLimit(.minutes(10)))
final class OutputFileTests: EndToEndSuite {
    private let png: Bytes

    override init() throws {
        png = try TestImages.make(.png, 30, 20)
        try super.init()
        server.serve("/a.jpg", .ok(jpeg, type: "image/jpeg"))
        server.serve("/b.png", .ok(png, type: "image/png"))
        server.serve("/x/a.jpg", .ok(png, type: "image/jpeg"))
        server.serve("/page", .ok(Bytes("<!doctype html><p>no"), type: "text/html; charset=utf-8"))
    }

    @Test("Bodies are stored unchanged, in a directory that get creates")
    func asTheyCame() throws {
        let result = place.run("get", server.url("/a.jpg"), server.url("/b.png"), "-o", "out/deep", "--json")
        #expect(result.status == 0)
        #expect(place.holds("out/deep/a.jpg", jpeg.array))
        #expect(place.holds("out/deep/b.png", png.array))
        let lines = try result.lines
        #expect(lines.map(\.url) == [server.url("/a.jpg"), server.url("/b.png")])
        #expect(lines.map(\.file) == ["out/deep/a.jpg", "out/deep/b.png"])
        #expect(lines.map(\.outcome) == ["ok", "ok"])
        let first = lines[0]
        #expect(first.format == "jpeg" && first.width == 60 && first.height == 40)
        #expect(first.sourceFormat == "jpeg" && first.sourceWidth == 60 && first.sourceHeight == 40)
        #expect(first.bytes == jpeg.count && first.wireBytes == jpeg.count)
        #expect(first.status == 200 && first.from == "network" && first.ms != nil && first.error == nil)
    }

    @Test("A .jpg that holds a PNG is stored as .png")
    func rightExtension() throws {
        let result = place.run("get", server.url("/x/a.jpg"), "-o", "out", "--json")
        #expect(try result.lines.first?.file == "out/a.png")
        #expect(place.files(in: "out") == ["a.png"])
    }

    @Test("Files with equal names are numbered in request order, though the loads end in another")
    func numbering() throws {
        let held = try LoopbackServer()
        held.serve("/1/a.jpg", .ok(jpeg).held("first"))
        held.serve("/2/a.jpg", .ok(try TestImages.make(.jpeg, 8, 8)))
        held.serve("/3/last.png", .ok(png))
        let command = RunningCommand(
            ["get", held.url("/1/a.jpg"), held.url("/2/a.jpg"), held.url("/3/last.png"), "-o", "out", "--json"],
            in: place)
        try held.blockForRequest("/2/a.jpg")
        try held.blockForRequest("/3/last.png")
        try held.blockUntilHeld("first")
        held.release("first")
        let result = command.wait()
        #expect(try result.lines.map(\.file) == ["out/a.jpg", "out/a-2.jpg", "out/last.png"])
        #expect(place.holds("out/a.jpg", jpeg.array))
    }

    @Test("A single URL without -o goes to standard output")
    func standardOutput() {
        let result = place.run("get", server.url("/b.png"))
        #expect(result.status == 0)
        #expect(result.output == png.array)
        #expect(result.errors.isEmpty, "nothing is printed if all is well")
        #expect(place.names.isEmpty)
        let failed = place.run("get", server.url("/none.png"))
        #expect(failed.status == 1)
        #expect(failed.errors.hasPrefix("failed ") && failed.errors.count { $0 == "\n" } == 1)
    }

    @Test("For a single URL, -o names a file if one is there or the name has an extension")
    func fileOutput() throws {
        func stored(_ arguments: String...) throws -> [String?] {
            try place.run(["get"] + arguments + ["--json"]).lines.map(\.file)
        }
        let (jpg, other) = (server.url("/a.jpg"), server.url("/b.png"))
        #expect(try stored(jpg, "-o", "new/cat of mine.jpeg") == ["new/cat of mine.jpeg"])
        #expect(place.holds("new/cat of mine.jpeg", jpeg.array))
        #expect(try stored(jpg, "-o", "cat.png", "--size", "8x") == ["cat.png"])
        #expect(try stored(other, "-o", "cat.png") == ["cat.png"])
        #expect(place.holds("cat.png", png.array))
        #expect(try stored(jpg, "-o", "folder") == ["folder/a.jpg"])
        #expect(try stored(jpg, "-o", "thumbs.d/") == ["thumbs.d/a.jpg"])
        #expect(try stored(jpg, "-o", "thumbs.d") == ["thumbs.d/a.jpg"])
        #expect(try stored(jpg, other, "-o", "both.d") == ["both.d/a.jpg", "both.d/b.png"])
        place.write("plain", "1")
        #expect(try stored(jpg, "-o", "plain") == ["plain"])
        #expect(place.holds("plain", jpeg.array))
    }

    @Test("URLs of the command line precede those of the list; blank lines and comments are skipped")
    func list() throws {
        place.write(
            "list", "# pictures\n\n  \(server.url("/x/a.jpg"))  \r\n#\(server.url("/page"))\n\(server.url("/page"))")
        let result = place.run("get", "-i", "list", server.url("/a.jpg"), "-o", "out", "--json")
        #expect(try result.lines.map(\.url) == [server.url("/a.jpg"), server.url("/x/a.jpg"), server.url("/page")])
        #expect(result.status == 1)
        let piped = place.run("get", "-i", "-", "-o", "out2", "--json", input: "\(server.url("/b.png"))\n")
        #expect(try piped.lines.map(\.file) == ["out2/b.png"])
    }

    @Test("A list that stays open is loaded line by line")
    func openList() throws {
        let command = RunningCommand(
            ["get", "-i", "-", "-o", "out", "--json"], in: place, input: nil, pipesOutput: true)
        command.type(server.url("/a.jpg") + "\n")
        #expect(command.readLine().contains("\"outcome\":\"ok\""))
        #expect(place.holds("out/a.jpg", jpeg.array))
        command.type(server.url("/b.png"))
        #expect(server.requestCount(of: "/b.png") == 0)
        command.endInput()
        #expect(command.readLine().contains("b.png"))
        #expect(command.wait().status == 0)
    }

    @Test("A URL listed 100 times sends one request, writes one file and reports 100 lines")
    func hundredTimes() throws {
        let url = server.url("/a.jpg")
        let result = place.run(
            "get", "-i", "-", "-o", "out", "--json", input: Array(repeating: url, count: 100).joined(separator: "\n"))
        let lines = try result.lines
        #expect(lines.count == 100)
        #expect(lines.allSatisfy { $0.url == url && $0.outcome == "ok" && $0.file == "out/a.jpg" && $0.width == 60 })
        #expect(lines.map(\.from) == ["network"] + Array(repeating: "shared", count: 99))
        #expect(server.requestCount == 1)
        #expect(place.files(in: "out") == ["a.jpg"])
        #expect(result.errors.contains(" (requests sent 1, coalesced 99, received "))
        #expect(result.errors.count { $0 == "\n" } == 1)
    }

    @Test("A repeated URL is not requested again after its load has ended or failed")
    func later() throws {
        let command = RunningCommand(
            ["get", "-i", "-", "-o", "out", "--json"], in: place, input: nil, pipesOutput: true)
        for _ in 0..<2 {
            command.type(server.url("/a.jpg") + "\n" + server.url("/none") + "#fragment\n")
            _ = command.readLine()
            _ = command.readLine()
        }
        command.endInput()
        #expect(command.wait().status == 1)
        #expect(server.requestCount(of: "/a.jpg") == 1)
        #expect(server.requestCount(of: "/none") == 1)
    }

    @Test("Lines appear in request order, or with --unordered as the loads end")
    func order() throws {
        for isUnordered in [false, true] {
            let held = try LoopbackServer()
            held.serve("/slow.jpg", .ok(jpeg).held("slow"))
            held.serve("/quick.png", .ok(png))
            let command = RunningCommand(
                ["get", held.url("/slow.jpg"), held.url("/quick.png"), "--discard", "--json"]
                    + (isUnordered ? ["--unordered"] : []), in: place, pipesOutput: true)
            if isUnordered {
                #expect(command.readLine().contains("quick"))
                held.release("slow")
                #expect(command.readLine().contains("slow"))
            } else {
                try held.blockForRequest("/quick.png")
                held.release("slow")
                #expect(command.readLine().contains("slow"))
                #expect(command.readLine().contains("quick"))
            }
            #expect(command.wait().status == 0)
        }
    }

    @Test("--overwrite replaces an existing file or symbolic link, and the target of the link stays unchanged")
    func replacing() {
        _ = unsafe mkdir(place.appending("out"), 0o755)
        place.write("victim", "untouched")
        #expect(unsafe symlink("../victim", place.appending("out/a.jpg")) == 0)
        place.write("out/b.png", String(repeating: "old", count: 9999))
        let result = place.run("get", server.url("/a.jpg"), server.url("/b.png"), "-o", "out", "--overwrite")
        #expect(result.status == 0)
        #expect(place.holds("victim", Array("untouched".utf8)))
        #expect(place.holds("out/a.jpg", jpeg.array))
        #expect(place.holds("out/b.png", png.array))
    }

    @Test("--any stores any body under a name from its URL and media type")
    func anything() throws {
        server.serve("/film.mp4", .ok(Bytes("not really"), type: "video/mp4"))
        server.serve("/empty", .ok(.empty))
        let result = place.run(
            "get", server.url("/page"), server.url("/film.mp4"), server.url("/empty"), "-o", "out", "--any", "--json")
        #expect(result.status == 0)
        #expect(place.files(in: "out") == ["empty", "film.mp4", "page.html"])
        #expect(try result.lines.allSatisfy { $0.format == nil && $0.width == nil && $0.outcome == "ok" })
    }

    @Test("--discard stores nothing and reports the properties of the source")
    func discarding() throws {
        let result = place.run("get", server.url("/a.jpg"), "--discard", "--size", "6x", "--json", "-o", "out")
        let line = try #require(try result.lines.first)
        #expect(line.file == nil && line.format == "jpeg" && line.width == 60 && line.height == 40)
        #expect(line.sourceFormat == "jpeg" && line.sourceWidth == 60 && line.sourceHeight == 40)
        #expect(place.names.isEmpty)
    }

    @Test("--skip-existing does not request complete files again")
    func skipping() throws {
        let urls = [server.url("/a.jpg"), server.url("/x/a.jpg"), server.url("/b.png"), server.url("/page")]
        #expect(place.run(["get"] + urls + ["-o", "out"]).status == 1)
        let before = server.requestCount
        // Truncated: the file exists, but is incomplete.
        place.write("out/b.png", Array(png.array.prefix(png.count / 2)))
        let result = place.run(["get"] + urls + ["-o", "out", "--skip-existing", "--json"])
        let lines = try result.lines
        #expect(lines.map(\.outcome) == ["skipped", "skipped", "ok", "failed"])
        #expect(lines.map(\.file) == ["out/a.jpg", "out/a.png", "out/b.png", nil])
        #expect(lines[0].width == 60 && lines[0].format == "jpeg")
        #expect(server.requestCount == before + 2)
        #expect(place.holds("out/b.png", png.array))
    }

    @Test("--skip-existing recognises numbered names")
    func skippingNumbered() throws {
        server.serve("/y/a.jpg", .ok(jpeg))
        server.serve("/z/a.jpg", .ok(jpeg))
        let urls = ["/a.jpg", "/y/a.jpg", "/z/a.jpg"].map { server.url($0) }
        #expect(place.run(["get"] + urls + ["-o", "out"]).status == 0)
        _ = unsafe unlink(place.appending("out/a-2.jpg"))
        let result = place.run(["get"] + urls + ["-o", "out", "--skip-existing", "--json"])
        #expect(try result.lines.map(\.outcome) == ["skipped", "ok", "skipped"])
        #expect(try result.lines.map(\.file) == ["out/a.jpg", "out/a-2.jpg", "out/a-3.jpg"])
        #expect(server.requestCount == 4)
    }

    @Test("Unsafe names in URLs become safe file names")
    func safeNames() throws {
        server.serveOthers { [jpeg] _ in .ok(jpeg) }
        let result = place.run(
            "get", server.url("/%2e%2e%2f%2e%2e%2fescape.jpg"), server.url("/.hidden.jpg"),
            server.url("/a%1b%5b2Jb.jpg"),
            server.url("/"), "-o", "out", "--json")
        #expect(
            try result.lines.map(\.file) == ["out/_.._escape.jpg", "out/hidden.jpg", "out/a[2Jb.jpg", "out/image.jpg"])
        #expect(place.names == ["out"])
    }

    @Test("Local files and data: URLs are loaded")
    func local() throws {
        place.write("here.jpg", jpeg.array)
        let data = "data:image/gif;base64,R0lGODlhAQABAIAAAICAgAAAACwAAAAAAQABAAACAkQBADs="
        let result = place.run("get", "file://" + place.appending("here.jpg"), data, "-o", "out", "--json")
        #expect(try result.lines.map(\.from) == ["file", "data"])
        #expect(try result.lines.map(\.status) == [nil, nil])
        #expect(place.files(in: "out") == ["here.jpg", "image.gif"])
    }
}
