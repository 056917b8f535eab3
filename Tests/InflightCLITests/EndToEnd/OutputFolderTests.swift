import Glibc
import InflightConcurrency
import InflightCore
import InflightSQLite
import InflightTestSupport
import Testing

@testable import InflightCLI

/// The files of several runs in one folder: which URL's file is which, and that none is lost.
@Suite("inflight get: files of earlier runs", .timeLimit(.minutes(10)))
final class OutputFolderTests: OutputFolderSuite {
    @Test("--skip-existing skips the images of the same URLs, whatever line is inserted before them")
    func insertedLine() throws {
        try stored(["/a/1.png", "/b/1.png"], as: ["1.png", "1-2.png"])
        server.forgetRecords()
        let lines = try get(["/new/1.png", "/a/1.png", "/b/1.png"], "--skip-existing")
        #expect(lines.map(\.outcome) == ["ok", "skipped", "skipped"])
        #expect(lines.map(\.file) == ["out/1-3.png", "out/1.png", "out/1-2.png"])
        #expect(lines[1].width == 9 && lines[1].format == "png")
        #expect(server.requests.map(\.path) == ["/new/1.png"])
        try check(["/a/1.png": "1.png", "/b/1.png": "1-2.png", "/new/1.png": "1-3.png"])
    }

    @Test("A later list keeps the files of earlier ones, and replaces those of its own URLs under their names")
    func laterList() throws {
        try stored(["/a/1.png", "/b/1.png"], as: ["1.png", "1-2.png"])
        try stored(["/c/1.png"], as: ["1-3.png"])
        change()
        try stored(["/c/1.png", "/b/1.png", "/d/1.png"], as: ["1-3.png", "1-2.png", "1-4.png"])
        #expect(place.read("out/1.png") == body("/a/1.png", version: 0))
        try stored(["/a/1.png"], as: ["1.png"])
        try check([
            "/a/1.png": "1.png", "/b/1.png": "1-2.png", "/c/1.png": "1-3.png", "/d/1.png": "1-4.png",
        ])
    }

    @Test(
        "What a run finds in its folder is kept: files, links, folders and pipes",
        arguments: ["echo mine > 1.png", "ln -s ../victim 1.png", "ln -s nowhere 1.png", "mkdir 1.png", "mkfifo 1.png"])
    func foreign(_ making: String) throws {
        place.write("victim", "untouched")
        let result = place.run(
            ["get", server.url("/a/1.png"), "-o", "out", "--json"],
            prefix: "mkdir out; (cd out; \(making); ls -l 1.png; stat -c '%i %F' 1.png) > before")
        #expect(try result.lines.map(\.file) == ["out/1-2.png"])
        #expect(place.holds("out/1-2.png", body("/a/1.png")))
        #expect(place.holds("victim", Array("untouched".utf8)))
        shell("(cd out; ls -l 1.png; stat -c '%i %F' 1.png) > after")
        #expect(place.read("after") == place.read("before"))
        let again = try get(["/a/1.png"], "--skip-existing")
        #expect(again.map(\.file) == ["out/1-2.png"] && again.map(\.outcome) == ["skipped"])
    }

    @Test("A file that the user has put in the place of an image is kept, and the image is stored beside it")
    func replacedByUser() throws {
        for text in ["notes, longer than the image was: " + String(repeating: "x", count: 500), "notes"] {
            clear()
            try stored(["/a/1.png"], as: ["1.png"])
            place.write("out/1.png", text)
            let lines = try get(["/a/1.png"], "--skip-existing")
            #expect(lines.map(\.outcome) == ["ok"] && lines.map(\.file) == ["out/1-2.png"])
            try stored(["/a/1.png"], as: ["1-2.png"])
            #expect(place.holds("out/1.png", Array(text.utf8)))
        }
        // Also another image.
        place.write("out/1-2.png", body("/other"))
        try stored(["/a/1.png"], as: ["1-3.png"])
        #expect(place.holds("out/1-2.png", body("/other")))
    }

    @Test("An image that a power failure left empty, or of which only a part was copied, is replaced")
    func damaged() throws {
        for count in [0, 1] {
            try stored(["/a/1.png"], as: ["1.png"])
            place.write("out/1.png", Array(body("/a/1.png").prefix(count * 60)))
            let lines = try get(["/a/1.png"], "--skip-existing")
            #expect(lines.map(\.outcome) == ["ok"] && lines.map(\.file) == ["out/1.png"])
            try check(["/a/1.png": "1.png"])
        }
    }

    @Test("A copy of a folder, whose files have other times, is recognised")
    func copied() throws {
        try stored(["/a/1.png", "/b/1.png"], as: ["1.png", "1-2.png"])
        shell("cp -r out copy; rm -r out; mv copy out; touch -d 2001-01-01 out/*")
        #expect(try get(["/b/1.png"], "--skip-existing").map(\.file) == ["out/1-2.png"])
        change()
        try stored(["/b/1.png"], as: ["1-2.png"])
    }

    @Test("Names in a folder whose files were removed are those in a new folder")
    func emptied() throws {
        try stored(["/a/1.png", "/b/1.png"], as: ["1.png", "1-2.png"])
        shell("rm out/*.png")
        try stored(["/b/1.png", "/a/1.png"], as: ["1.png", "1-2.png"])
        try check(["/a/1.png": "1-2.png", "/b/1.png": "1.png"])
    }

    @Test("--overwrite replaces files by name; then they are of the URLs that replaced them")
    func overwriting() throws {
        try stored(["/a/1.png", "/b/1.png"], as: ["1.png", "1-2.png"])
        place.write("victim", "untouched")
        _ = unsafe symlink("../victim", place.appending("out/2.png"))
        #expect(
            try get(["/b/1.png", "/c/2.png"], "--overwrite").map(\.file) == ["out/1.png", "out/2.png"])
        #expect(place.holds("victim", Array("untouched".utf8)))
        try check(["/b/1.png": "1.png", "/c/2.png": "2.png"])
        let lines = try get(["/a/1.png", "/b/1.png", "/c/2.png"], "--skip-existing")
        #expect(lines.map(\.outcome) == ["ok", "skipped", "skipped"])
        #expect(lines.map(\.file) == ["out/1-3.png", "out/1.png", "out/2.png"])
    }

    @Test("A file with equal bytes that --overwrite put in the place of another URL's is not of that URL any more")
    func overwrittenWithEqualBytes() throws {
        server.serve("/twin/1.png", .ok(Bytes(body("/a/1.png"))))
        try stored(["/a/1.png"], as: ["1.png"])
        #expect(try get(["/twin/1.png"], "--overwrite").map(\.file) == ["out/1.png"])
        change()
        try stored(["/a/1.png"], as: ["1-2.png"])
        #expect(place.holds("out/1.png", body("/a/1.png", version: 0)))
    }

    @Test("-o FILE replaces the file, and makes no index")
    func chosenFile() throws {
        place.write("out.png", "mine")
        #expect(place.run("get", server.url("/a/1.png"), "-o", "out.png").status == 0)
        #expect(place.holds("out.png", body("/a/1.png")))
        #expect(place.names == ["out.png"])
        for (option, outcome) in [("--skip-existing", "skipped"), ("--update", "skipped"), ("--overwrite", "ok")] {
            let line = try place.run("get", server.url("/a/1.png"), "-o", "out.png", "--json", option).lines.first
            #expect(line?.outcome == outcome && line?.file == "out.png", "\(option)")
        }
        change()
        #expect(place.run("get", server.url("/a/1.png"), "-o", "out.png", "--update").status == 0)
        #expect(place.holds("out.png", body("/a/1.png")))
        #expect(place.names == ["out.png"])
    }

    @Test("Each format of an image has its file, and --skip-existing recognises only that of the same image options")
    func formats() throws {
        try stored(["/a/1.png"], as: ["1.png"])
        #expect(try get(["/a/1.png"], "--format", "jpeg").map(\.file) == ["out/1.jpg"])
        #expect(try get(["/a/1.png"], "--format", "jpeg", "--skip-existing").map(\.outcome) == ["skipped"])
        #expect(try get(["/a/1.png"], "--format", "jpeg", "--size", "4x", "--skip-existing").map(\.outcome) == ["ok"])
        let lines = try get(["/a/1.png"], "--skip-existing")
        #expect(lines.map(\.outcome) == ["skipped"] && lines.map(\.file) == ["out/1.png"])
        try stored(["/a/1.png"], as: ["1.png"])
        #expect(place.files(in: "out") == ["1.jpg", "1.png"])
    }

    @Test("A run that stores nothing makes no index")
    func nothingStored() throws {
        server.serve("/a/1.png", .status(404))
        #expect(run(["/a/1.png"]).status == 1)
        #expect(TemporaryDirectory.names(place.appending("out")).isEmpty)
    }

    @Test("A URL that is listed twice has one file, also in later runs")
    func twice() throws {
        try stored(["/a/1.png", "/a/1.png"], as: ["1.png", "1.png"])
        let skipped = try get(["/a/1.png", "/b/1.png", "/a/1.png"], "--skip-existing")
        #expect(skipped.map(\.outcome) == ["skipped", "ok", "skipped"])
        #expect(skipped.map(\.file) == ["out/1.png", "out/1-2.png", "out/1.png"])
        let updated = try get(["/a/1.png", "/a/1.png"], "--update")
        #expect(updated.map(\.outcome) == ["skipped", "skipped"])
        #expect(updated.map(\.file) == ["out/1.png", "out/1.png"])
        #expect(place.files(in: "out") == ["1-2.png", "1.png"])
    }

    @Test("Bodies stored with --any are recognised by URL, too")
    func anything() throws {
        server.serve("/a/page", .ok(Bytes("first"), type: "text/html"))
        server.serve("/b/page", .ok(Bytes("second"), type: "text/html"))
        #expect(try get(["/a/page", "/b/page"], "--any").map(\.file) == ["out/page.html", "out/page-2.html"])
        let lines = try get(["/b/page", "/a/page"], "--any", "--skip-existing")
        #expect(lines.map(\.outcome) == ["skipped", "skipped"])
        #expect(lines.map(\.file) == ["out/page-2.html", "out/page.html"])
        place.write("out/page.html", "")
        #expect(try get(["/a/page"], "--any", "--skip-existing").map(\.outcome) == ["ok"])
        #expect(place.holds("out/page.html", Array("first".utf8)))
    }

    @Test("Previews replace those of the same URL only")
    func previews() async throws {
        var encoding = EncodeOptions(format: .jpeg, quality: 95)
        encoding.isProgressive = true
        for (path, preview) in [("/a/p.jpg", "out/p.preview-1.png"), ("/b/p.jpg", "out/p-2.preview-1.png")] {
            let picture = try TestImages.codecs.encode(
                TestImages.pixels(path == "/a/p.jpg" ? 400 : 300, 300), options: encoding)
            server.serve(path, inOrder: [.ok(picture).held(path, after: picture.count / 2), .ok(picture)])
            let command = RunningCommand(
                ["get", server.url(path), "-o", "out", "--previews", "--json"], in: place)
            let isThere = ValueBridge<Bool>()
            place.whenExists(preview) { [server] _ in
                isThere.open(with: true)
                server.release(path)
            }
            #expect(await isThere.value())
            #expect(try command.wait().lines.first?.previews?.first == preview)
        }
        #expect(try TestImages.decode(place.read("out/p.preview-1.png")).0.width == 400)
        #expect(try TestImages.decode(place.read("out/p-2.preview-1.png")).0.width == 300)
        let again = try get(["/b/p.jpg", "/a/p.jpg"], "--previews")
        #expect(again.map(\.file) == ["out/p-2.jpg", "out/p.jpg"])
        #expect(place.files(in: "out").allSatisfy { $0.hasPrefix("p.") || $0.hasPrefix("p-2.") })
    }
}

/// `--update`: what is asked, and what is stored.
@Suite("inflight get --update", .timeLimit(.minutes(10)))
final class UpdateTests: OutputFolderSuite {
    @Test("--update asks with the stored ETag, and stores only what changed")
    func entityTags() throws {
        try stored(["/same/1.png", "/a/1.png"], as: ["1.png", "1-2.png"])
        change()
        server.forgetRecords()
        let result = run(["/new/1.png", "/a/1.png", "/same/1.png"], ["--update"])
        let lines = try result.lines
        #expect(lines.map(\.outcome) == ["ok", "ok", "skipped"])
        #expect(lines.map(\.file) == ["out/1-3.png", "out/1-2.png", "out/1.png"])
        #expect(lines.map(\.status) == [200, 200, 304] && lines.map(\.from) == ["network", "network", "network"])
        #expect(result.errors.contains("skipped 1,") && result.status == 0)
        #expect(server.requests(of: "/same/1.png").map { $0.fields["if-none-match"] } == ["\"same\""])
        #expect(server.requests(of: "/a/1.png").map { $0.fields["if-none-match"] } == ["\"0\""])
        #expect(server.requests(of: "/new/1.png").map { $0.fields["if-none-match"] } == [nil])
        try check(["/same/1.png": "1.png", "/a/1.png": "1-2.png", "/new/1.png": "1-3.png"])
        // The new validator was stored with the new image.
        #expect(try get(["/a/1.png"], "--update").map(\.status) == [304])
    }

    @Test("Without an ETag, --update asks with Last-Modified; without either, it compares the bytes")
    func otherValidators() throws {
        let date = "Tue, 03 Feb 2026 04:05:06 GMT"
        server.serve("/dated.png") { [same = body("/dated.png")] request in
            request.fields["if-modified-since"] == date
                ? .status(304) : .ok(Bytes(same)).field("Last-Modified", date)
        }
        server.serve(
            "/bare.png",
            inOrder: [
                .ok(Bytes(body("/bare.png", version: 0))), .ok(Bytes(body("/bare.png", version: 0))),
                .ok(Bytes(body("/bare.png", version: 1))),
            ])
        try stored(["/dated.png", "/bare.png"], as: ["dated.png", "bare.png"])
        let before = try #require(place.inode("out/bare.png"))
        let lines = try get(["/dated.png", "/bare.png"], "--update")
        #expect(lines.map(\.outcome) == ["skipped", "skipped"] && lines.map(\.status) == [304, 200])
        #expect(lines[1].bytes == body("/bare.png", version: 0).count && lines[1].file == "out/bare.png")
        #expect(place.inode("out/bare.png") == before)
        #expect(try get(["/bare.png"], "--update").map(\.outcome) == ["ok"])
        #expect(place.holds("out/bare.png", body("/bare.png", version: 1)))
    }

    @Test("A validator that came with equal bytes is stored")
    func newValidator() throws {
        let same = Bytes(body("/y.png"))
        server.serve("/y.png", .ok(same))
        try stored(["/y.png"], as: ["y.png"])
        server.serve("/y.png") { request in
            request.fields["if-none-match"] == "\"late\"" ? .status(304) : .ok(same).field("ETag", "\"late\"")
        }
        #expect(try get(["/y.png"], "--update").map(\.status) == [200])
        #expect(try get(["/y.png"], "--update").map(\.status) == [304])
    }

    @Test("A redirect to another image is not mistaken for an unchanged one, though its server answers 304")
    func redirected() throws {
        let date = "Tue, 03 Feb 2026 04:05:06 GMT"
        let (first, removed) = (Bytes(body("/gone.png")), Bytes(body("/removed.png")))
        server.serve("/gone.png", inOrder: [.ok(first).field("Last-Modified", date), .redirect(to: "/removed.png")])
        server.serve("/removed.png") { request in
            request.fields.contains("if-modified-since") ? .status(304) : .ok(removed)
        }
        try stored(["/gone.png"], as: ["gone.png"])
        let lines = try get(["/gone.png"], "--update")
        #expect(lines.map(\.outcome) == ["ok"] && lines.first?.finalURL == server.url("/removed.png"))
        #expect(place.holds("out/gone.png", removed.array))
        // A validator of the other URL is not sent to this one.
        server.forgetRecords()
        #expect(try get(["/gone.png"], "--update").map(\.outcome) == ["skipped"])
        #expect(server.requests.allSatisfy { !$0.fields.contains("if-modified-since") })
    }

    @Test("--update fetches the image anew if its file is missing, damaged, or made with other image options")
    func incomplete() throws {
        try stored(["/same/1.png"], as: ["1.png"])
        #expect(try get(["/same/1.png"], "--update", "--size", "4x").map(\.outcome) == ["ok"])
        #expect(try get(["/same/1.png"], "--update", "--size", "4x").map(\.status) == [304])
        try stored(["/same/1.png"], as: ["1.png"])
        place.write("out/1.png", Array(body("/same/1.png").prefix(60)))
        #expect(try get(["/same/1.png"], "--update").map(\.outcome) == ["ok"])
        #expect(unsafe unlink(place.appending("out/1.png")) == 0)
        #expect(try get(["/same/1.png"], "--update").map(\.outcome) == ["ok"])
        try check(["/same/1.png": "1.png"])
    }

    @Test("With equal images after re-encoding, the file is kept")
    func reencoded() throws {
        server.serve("/bare.png", .ok(Bytes(body("/bare.png"))))
        #expect(try get(["/bare.png"], "--format", "jpeg").map(\.file) == ["out/bare.jpg"])
        let lines = try get(["/bare.png"], "--format", "jpeg", "--update")
        #expect(lines.map(\.outcome) == ["skipped"] && lines.first?.format == "jpeg")
    }

    @Test("A failed update keeps the file")
    func failing() throws {
        try stored(["/a/1.png"], as: ["1.png"])
        server.serve("/a/1.png", .status(404))
        let result = run(["/a/1.png"], ["--update"])
        #expect(try result.lines.first?.error?.code == "badStatus" && result.status == 1)
        #expect(place.holds("out/1.png", body("/a/1.png")))
        server.serve("/a/1.png", .status(304))
        #expect(try get(["/a/1.png"], "--update").map(\.outcome) == ["skipped"])
        #expect(place.run("get", server.url("/a/1.png"), "-o", "out").errors.contains("http_304"))
    }

    @Test("With a cache, --update asks the server, and stores what another run has cached")
    func cached() throws {
        let cache = ["--cache", "cache"]
        server.serve("/fresh.png") { [place] request in
            let isNew = place.read("changed") != nil
            let tag = isNew ? "\"new\"" : "\"old\""
            guard request.fields["if-none-match"]?.contains(tag) != true else { return .status(304).field("ETag", tag) }
            return .ok(Bytes(Self.body("/fresh.png", isNew ? 1 : 0))).field("ETag", tag)
                .field("Cache-Control", "max-age=3600")
        }
        #expect(run(["/fresh.png"], cache).status == 0)
        #expect(try run(["/fresh.png"], cache + ["--update"]).lines.map(\.status) == [304])
        #expect(server.requestCount == 2)
        place.write("changed", "")
        #expect(
            place.run(["get", server.url("/fresh.png"), "--discard", "--cache-policy", "refresh"] + cache).status == 0)
        let lines = try run(["/fresh.png"], cache + ["--update"]).lines
        #expect(lines.map(\.outcome) == ["ok"] && lines.map(\.from) == ["revalidated"])
        #expect(place.holds("out/fresh.png", body("/fresh.png", version: 1)))
    }
}

/// Indexes that are damaged, foreign or cannot be written; several runs at once; kills.
@Suite("inflight get: the index of a folder", .timeLimit(.minutes(20)))
final class FolderIndexTests: OutputFolderSuite {
    private let index = "out/.inflight.index"

    @Test(
        "An index that is no such file is left alone, reported, and costs no file",
        arguments: [
            "rm $I", "echo '# my own notes' > $I", "printf '# inflight index 2\\n' > $I", "rm $I; mkdir $I",
            "rm $I; mkfifo $I", "mv $I real; ln -s ../real $I", "rm $I; ln -s nowhere $I", "truncate -s 1T $I",
            "rm $I; truncate -s 1T $I",
        ])
    func foreign(_ making: String) throws {
        try stored(["/a/1.png", "/b/1.png"], as: ["1.png", "1-2.png"])
        change()
        let isReported = making != "rm $I"
        let result = place.run(
            ["get", server.url("/a/1.png"), "-o", "out", "--json"],
            prefix: "I=\(index); \(making); stat -c '%F %s %i' $I > before 2>&1")
        #expect(result.status == 0)
        #expect(result.errors.contains("Cannot use the index out/.inflight.index: ") == isReported, "\(result.errors)")
        #expect(try result.lines.map(\.file) == ["out/1-3.png"])
        #expect(place.read("out/1.png") == body("/a/1.png", version: 0))
        #expect(place.read("out/1-2.png") == body("/b/1.png", version: 0))
        #expect(place.read("nowhere") == nil)
        guard isReported else { return }
        shell("stat -c '%F %s %i' \(index) > after 2>&1")
        #expect(place.read("after") == place.read("before"))
        #expect(run(["/a/1.png"], ["--quiet", "--discard"]).errors.isEmpty, "--discard needs no index")
    }

    @Test("A damaged line counts for nothing, is reported once, and leaves the others valid")
    func damagedLine() throws {
        try stored(["/a/1.png", "/b/1.png"], as: ["1.png", "1-2.png"])
        let whole = try #require(place.read(index))
        change()
        // A byte of the first record, from its checksum to its name.
        for position in [20, 40, 75, 100, 122] {
            _ = unsafe unlink(place.appending("out/1-3.png"))
            var damaged = whole
            damaged[position] ^= 1
            place.write(index, damaged)
            let result = run(["/a/1.png"])
            #expect(result.errors.contains("1 damaged line"), "\(position): \(result.errors)")
            #expect(try result.lines.map(\.file) == ["out/1-3.png"], "\(position)")
            #expect(place.read("out/1.png") == body("/a/1.png", version: 0))
            #expect(!run(["/a/1.png"]).errors.contains("damaged"))
            #expect(try get(["/b/1.png"], "--skip-existing").map(\.outcome) == ["skipped"])
        }
    }

    @Test("An index that ends anywhere is completed by the next run, and no file of another URL is replaced")
    func truncated() throws {
        try stored(["/a/1.png", "/b/1.png"], as: ["1.png", "1-2.png"])
        let whole = try #require(place.read(index))
        for count in stride(from: 0, to: whole.count, by: 9) {
            place.write(index, Array(whole.prefix(count)))
            let lines = try get(["/b/1.png", "/a/1.png"])
            #expect(lines.allSatisfy { $0.outcome == "ok" })
            #expect(place.holds("out/1.png", body("/a/1.png")) && place.holds("out/1-2.png", body("/b/1.png")))
            for line in lines {
                #expect(
                    place.holds(line.file ?? "", body(line.url == server.url("/a/1.png") ? "/a/1.png" : "/b/1.png")))
            }
            #expect(
                try get(["/a/1.png", "/b/1.png"], "--skip-existing").map(\.outcome) == ["skipped", "skipped"],
                "\(count)")
            for name in place.files(in: "out") where name != "1.png" && name != "1-2.png" {
                _ = unsafe unlink(place.appending("out/" + name))
            }
        }
    }

    @Test("A hostile index leads to no file outside of the folder, and to no hidden one")
    func hostile() throws {
        place.write("victim", body("/a/1.png"))
        try stored(["/a/1.png"], as: ["1.png"])
        let whole = try #require(place.read(index))
        let record = try #require(whole.split(separator: 10).last)
        for name in ["../victim", "/etc/passwd", "", ".", "..", ".hidden", "a/b", "%00", "%ff"] {
            // The name is the last field, after the checksum of the line and the other fields.
            let rest = Array(record.dropFirst(17).dropLast("1.png".utf8.count)) + name.utf8
            let sum = String(unsafe rest.withUnsafeBytes { unsafe XXH64.of($0, seed: 0) }, radix: 16)
            let line = String(repeating: "0", count: 16 - sum.count) + sum + " " + String(decoding: rest, as: UTF8.self)
            clear()
            shell("mkdir out")
            place.write(index, "# inflight index 1\n" + line + "\n")
            let result = run(["/a/1.png"], ["--skip-existing"])
            #expect(try result.lines.map(\.file) == ["out/1.png"], "\(name)")
            #expect(result.errors.contains("1 damaged line"), "\(name)")
        }
    }

    @Test("An index that cannot be written still tells the files apart, and costs none")
    func readOnly() throws {
        try stored(["/a/1.png", "/b/1.png"], as: ["1.png", "1-2.png"])
        change()
        // Without that capability, permissions count for root, too.
        let prefix = """
            chmod 444 \(index)
            if [ "$(id -u)" = 0 ]; then set -- setpriv --bounding-set=-dac_override "$@"; fi
            """
        let result = place.run(
            ["get", server.url("/c/1.png"), server.url("/b/1.png"), "-o", "out", "--json"], prefix: prefix)
        #expect(result.status == 0)
        #expect(result.errors.contains("Cannot write the index out/.inflight.index: Permission denied. "))
        #expect(try result.lines.map(\.file) == ["out/1-3.png", "out/1-2.png"])
        #expect(place.read("out/1.png") == body("/a/1.png", version: 0))
        try check(["/b/1.png": "1-2.png", "/c/1.png": "1-3.png"])
        // What was not recorded is kept by later runs.
        change()
        try stored(["/a/1.png", "/c/1.png"], as: ["1.png", "1-4.png"])
        #expect(place.read("out/1-3.png") == body("/c/1.png", version: 1))
    }

    @Test(
        "When the disk has no room for the index, images are stored, and their records are missing",
        .enabled(if: !Sanitizer.isOn, "a sanitizer has files of its own, which the limit hits first"))
    func noRoom() throws {
        let paths = (0..<8).map { "/\($0)/1.png" }
        // The index, but none of the images, exceeds the limit of 512 bytes.
        let result = place.run(["get"] + paths.map { server.url($0) } + ["-o", "out"], prefix: "ulimit -f 1")
        #expect(result.status == 0)
        #expect(result.errors.contains("Cannot write the index out/.inflight.index: File too large. "))
        let files = ["out/1.png"] + (2...8).map { "out/1-\($0).png" }
        let again = run(paths, ["--skip-existing"])
        let lines = try again.lines
        #expect(lines.prefix(2).map(\.outcome) == ["skipped", "skipped"] && lines.last?.outcome == "ok")
        for (path, file) in zip(paths, files) { #expect(place.holds(file, body(path))) }
        #expect(try get(paths, "--skip-existing").allSatisfy { $0.outcome == "skipped" })
    }

    @Test("Two runs at once in one folder replace no file of each other, and know each other's files")
    func twoRuns() throws {
        server.serve("/a/1.png", .ok(Bytes(body("/a/1.png"))).held("a"))
        server.serve(
            "/shared/1.png",
            inOrder: [.ok(Bytes(body("/shared/1.png"))).held("shared"), .ok(Bytes(body("/shared/1.png")))])
        let first = RunningCommand(
            ["get", server.url("/a/1.png"), server.url("/shared/1.png"), "-o", "out", "--json"], in: place)
        try server.blockUntilHeld("a")
        try server.blockUntilHeld("shared")
        try stored(["/b/1.png", "/shared/1.png"], as: ["1.png", "1-2.png"])
        server.release("a")
        server.release("shared")
        #expect(try first.wait().lines.map(\.file) == ["out/1-3.png", "out/1-2.png"])
        try check(["/a/1.png": "1-3.png", "/b/1.png": "1.png", "/shared/1.png": "1-2.png"])
        let lines = try get(["/a/1.png", "/b/1.png", "/shared/1.png"], "--skip-existing")
        #expect(lines.allSatisfy { $0.outcome == "skipped" })
        #expect(lines.map(\.file) == ["out/1-3.png", "out/1.png", "out/1-2.png"])
    }

    @Test(
        "A name that another program takes after it was found free stays that program's",
        .enabled(if: !Sanitizer.isOn, "ptrace and the sanitizers exclude each other"))
    func takenLate() throws {
        shell("mkdir out; echo mine > out/1.png")
        let result = place.run(
            ["get", server.url("/a/1.png"), "-o", "out", "--json"],
            prefix: traced("-P out -e trace=newfstatat -e inject=newfstatat:error=ENOENT"))
        #expect(try result.lines.map(\.file) == ["out/1-2.png"], "\(result.errors)")
        let again = try get(["/a/1.png"], "--skip-existing")
        #expect(again.map(\.file) == ["out/1-2.png"] && again.map(\.outcome) == ["skipped"])
        #expect(place.holds("out/1.png", Array("mine\n".utf8)) && place.holds("out/1-2.png", body("/a/1.png")))
    }

    @Test("A run continues if its index is removed meanwhile")
    func removed() throws {
        server.serve("/slow/2.png", .ok(Bytes(body("/slow/2.png"))).held("slow"))
        try stored(["/a/1.png"], as: ["1.png"])
        let command = RunningCommand(["get", server.url("/slow/2.png"), "-o", "out"], in: place)
        try server.blockUntilHeld("slow")
        #expect(unsafe unlink(place.appending(index)) == 0)
        server.release("slow")
        #expect(command.wait().status == 0)
        let lines = try get(["/slow/2.png", "/a/1.png"], "--skip-existing")
        #expect(lines.map(\.outcome) == ["skipped", "ok"] && lines.map(\.file) == ["out/2.png", "out/1-2.png"])
    }

    @Test("An index with many obsolete lines is rewritten without them")
    func rewritten() throws {
        let list = (0..<1500).map { "data:,\($0)" }.joined(separator: "\n")
        func lines() -> Int { place.read(index)?.count { $0 == 10 } ?? 0 }
        for run in 1...4 {
            #expect(place.run("get", "-i", "-", "-o", "out", "--any", input: list).status == 0)
            #expect(lines() == 1500 * run + 1)
        }
        #expect(unsafe unlink(place.appending("out/image.txt")) == 0)
        let result = place.run("get", "-i", "-", "-o", "out", "--any", "--skip-existing", input: list)
        #expect(result.status == 0 && result.errors.contains("skipped 1,499,"), "\(result.errors)")
        // Of each file the last record and the one before, and one new record.
        #expect(lines() == 1499 * 2 + 2)
        #expect(place.holds("out/image.txt", [UInt8(ascii: "0")]) && place.files(in: "out").count == 1500)
    }

    @Test("The index records neither URLs nor passwords")
    func secrets() throws {
        let url = "http://me:s3cret@" + server.url("/a/1.png?token=s3cret").dropFirst("http://".count)
        #expect(place.run("get", url, "-o", "out").status == 0)
        let text = String(decoding: try #require(place.read(index)), as: UTF8.self)
        #expect(!text.contains("s3cret") && !text.contains("127.0.0.1") && text.contains(" 1.png"))
    }

    @Test(
        "A kill at any point costs no file, and leaves none that the next run does not recognise",
        .enabled(if: !Sanitizer.isOn, "ptrace and the sanitizers exclude each other"),
        arguments: [
            "write -P out/.inflight.index", "openat -P out", "flock", "linkat", "unlinkat", "renameat",
        ])
    func killed(_ point: String) throws {
        let urls = ["/a/1.png", "/b/1.png", "/c/1.png"].map { server.url($0) }
        let call = point.prefix { $0 != " " }
        for count in 1...64 {
            clear()
            shell("mkdir out; echo mine > out/1.png")
            try stored(["/a/1.png", "/b/1.png"], as: ["1-2.png", "1-3.png"])
            let before = (body("/a/1.png"), body("/b/1.png"))
            change()
            var wasKilled = false
            // Twice at the same point, so that the second run finds what the first has left.
            for _ in 0..<2 {
                let result = place.run(
                    ["get"] + urls + ["-o", "out", "--per-host", "1"],
                    prefix: traced("-e trace=\(point) -e inject=\(call):signal=KILL:when=\(count)"))
                try #require(result.status != 99, "\(result.errors)")
                wasKilled = wasKilled || result.status != 0
                #expect(place.holds("out/1.png", Array("mine\n".utf8)))
                #expect([before.0, body("/a/1.png")].contains { $0 == place.read("out/1-2.png") })
                #expect([before.1, body("/b/1.png")].contains { $0 == place.read("out/1-3.png") })
                #expect([nil, body("/c/1.png")].contains { $0 == place.read("out/1-4.png") })
            }
            let skipping = try get(["/b/1.png", "/a/1.png"], "--skip-existing")
            #expect(skipping.map(\.file) == ["out/1-3.png", "out/1-2.png"], "\(point) \(count)")
            #expect(skipping.allSatisfy { $0.outcome == "skipped" }, "\(point) \(count)")
            try stored(["/a/1.png", "/b/1.png", "/c/1.png"], as: ["1-2.png", "1-3.png", "1-4.png"])
            #expect(place.files(in: "out") == ["1-2.png", "1-3.png", "1-4.png", "1.png"])
            guard wasKilled else {
                #expect(count > 1, "no \(call) was seen")
                return
            }
        }
        Issue.record("more than 64 calls of \(call)")
    }
}
