import InflightBatch
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// The filters of `inflight batch`, which fail rows before an image is stored.
@Suite("Batch filters", .timeLimit(.minutes(10)))
final class BatchFilterTests: EndToEndSuite {
    private static let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

    private func batch(_ arguments: String...) -> CommandResult {
        place.run(["batch"] + arguments + ["--format", "png", "--allow-private", "--ignore-robots"])
    }

    /// The number of failures by class, as `batch status` prints them.
    private func status(_ folder: String) -> String { place.run(["batch", "status", folder, "--json"]).text }

    @Test("Images below the minimum or beyond the aspect ratio fail with a class of their own, and are not stored")
    func sizes() throws {
        for (width, height) in [(1, 1), (60, 40), (40, 60), (64, 64), (120, 40), (121, 40), (64, 63)] {
            server.serve("/\(width)x\(height).png", .ok(try TestImages.make(.png, width, height)))
        }
        let names = ["1x1", "60x40", "40x60", "64x64", "120x40", "121x40", "64x63"]
        place.write("in.txt", names.map { server.url("/\($0).png") + "\n" }.joined())
        let ratio = batch("in.txt", "-o", "ratio", "--layout", "files", "--min-size", "2x2", "--max-aspect-ratio", "3")
        #expect(ratio.status == 0, "\(ratio.errors)")
        #expect(status("ratio").contains(#""images":5,"#), "\(status("ratio"))")
        #expect(status("ratio").contains(#""too_small":1"#) && status("ratio").contains(#""aspect_ratio":1"#))
        #expect(place.read("ratio/00000/000000000.png") == nil && place.read("ratio/00000/000000005.png") == nil)
        #expect(place.read("ratio/00000/000000004.png") != nil)
        #expect(place.run(["batch", "verify", "ratio"]).status == 0)
        for (size, count) in [("64x64", 1), ("64x", 4), ("x41", 3), ("60x40", 5)] {
            #expect(batch("in.txt", "-o", size, "--min-size", size).status == 0)
            #expect(status(size).contains(#""images":\#(count),"#), "\(size): \(status(size))")
        }
        // The minimum is that of the fetched image, not of the written one.
        #expect(batch("in.txt", "-o", "resized", "--min-size", "60x40", "--size", "8x8").status == 0)
        #expect(status("resized").contains(#""images":5,"#))
        let other = batch("in.txt", "-o", "64x64", "--min-size", "63x63")
        #expect(other.status == 64 && other.errors.contains("min-size was '64x64', is '63x63'"), "\(other.errors)")
    }

    @Test("A body whose digest is not that of its row fails, and the digests remain in the output")
    func digests() throws {
        let image = try TestImages.make(.png, 6, 4)
        server.serve("/a.png", .ok(image))
        let (sha256, md5) = [BodyDigest.Function.sha256, .md5].map { BodyDigest($0, of: image).hex }.pair
        place.write(
            "in.csv",
            "url,sha256,md5\n\(server.url("/a.png")),\(sha256.uppercased()),\(md5)\n"
                + "\(server.url("/a.png")),\(Self.sha256),\(md5)\n"
                + "\(server.url("/a.png")),\(sha256),\(String(md5.reversed()))\n")
        let result = batch(
            "in.csv", "-o", "out", "--sha256-column", "sha256", "--md5-column", "md5", "--layout", "files")
        #expect(result.status == 0, "\(result.errors)")
        #expect(status("out").contains(#""images":1,"#) && status("out").contains(#""hash_mismatch":2"#))
        let sidecar = try #require(place.read("out/00000/000000000.json"))
        let text = String(decoding: sidecar, as: UTF8.self)
        #expect(text.contains(#""sha256":"\#(sha256)""#) && text.contains(#""input_sha256":"\#(sha256.uppercased())""#))
        #expect(text.contains(#""md5":"\#(md5)""#))
        // Open Images has digests in base64.
        for (text, isDigest) in [
            ("XUFAKrxLKna5cZ2REBfFkg==", true), ("XUFAKrxLKna5cZ2REBfFkg", true), ("XUFAKrxLKna5cZ2REBfF", false),
        ] {
            let digest = BodyDigest(.md5, text: text)
            #expect(digest?.hex == (isDigest ? "5d41402abc4b2a76b9719d911017c592" : nil))
        }
        // The digest of "hello" by another program.
        #expect(BodyDigest(.sha256, of: Bytes(Array("hello".utf8))).hex == Self.sha256)
        #expect(BodyDigest(.md5, of: Bytes(Array("hello".utf8))).hex == "5d41402abc4b2a76b9719d911017c592")
        #expect(place.run(["batch", "retry", "out", "--class", "hash_mismatch"]).status == 0)
        #expect(status("out").contains(#""hash_mismatch":2"#))
    }

    @Test("A row without a digest of the right form is rejected with its file and line")
    func malformedDigests() throws {
        server.serve("/a.png", .ok(try TestImages.make(.png, 6, 4)))
        let url = server.url("/a.png")
        let values = ["\"abc\"", "null", "7", "\"\(String(repeating: "g", count: 64))\"", "\"\(Self.sha256)0\""]
        place.write(
            "in.jsonl", values.map { "{\"url\":\"\(url)\",\"sum\":\($0)}\n" }.joined() + "{\"url\":\"\(url)\"}\n")
        let result = batch("in.jsonl", "-o", "out", "--sha256-column", "sum")
        #expect(result.status == 65, "\(result.errors)")
        let rejects = String(decoding: try #require(place.read("out/rejects.jsonl")), as: UTF8.self)
        #expect(rejects.split(separator: "\n").count == 6)
        #expect(
            rejects.contains("in.jsonl\",\"line\":6,\"reason\":\"The column 'sum' has no SHA-256: 64 hex"),
            "\(rejects)")
        place.write("in.csv", "url\n\(url)\n")
        let missing = batch("in.csv", "-o", "csv", "--md5-column", "sum")
        #expect(missing.status == 65 && missing.errors.contains("no column 'sum'"), "\(missing.errors)")
        place.write("in.txt", url)
        #expect(batch("in.txt", "-o", "txt", "--md5-column", "sum").status == 65)
    }

    @Test(
        "Filters that accept nothing, and those that a stream does not have, are usage errors",
        arguments: [
            (["--min-size", "0x4"], "--min-size"), (["--min-size", "20x20", "--max-pixels", "399"], "--max-pixels"),
            (["--max-aspect-ratio", "0.5"], "1 to 65,535"), (["--max-aspect-ratio", "nan"], "1 to 65,535"),
            (["--sha256-column", ""], "--sha256-column"),
        ])
    func usage(options: [String], text: String) {
        let error = #expect(throws: UsageError.self) {
            _ = try Command.parse(
                ["batch", "a.csv", "-o", "x", "--format", "png"] + options, standardOutputIsTerminal: false)
        }
        #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
    }

    @Test("Filters apply to a stream, but digests do not")
    func stream() throws {
        server.serve("/a.png", .ok(try TestImages.make(.png, 6, 4)))
        let options = ["batch", "--stream", "--format", "png", "--allow-private", "--ignore-robots"]
        let row = "{\"id\":\"1\",\"url\":\"\(server.url("/a.png"))\"}\n"
        let result = place.run(options + ["--min-size", "6x5"], input: row)
        #expect(result.text.contains(#""error_class":"too_small""#), "\(result.text)")
        #expect(place.run(options + ["--md5-column", "a"], input: row).status == 64)
    }
}

extension Array {
    /// The first two elements.
    fileprivate var pair: (Element, Element) { (self[0], self[1]) }
}
