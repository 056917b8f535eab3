import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Lists of other shapes than a file with a header.
@Suite("Lists of batches", .timeLimit(.minutes(10)))
final class BatchListTests: EndToEndSuite {
    private func batch(_ arguments: String...) -> CommandResult {
        place.run(["batch"] + arguments + ["--format", "jpg", "--allow-private", "--ignore-robots"])
    }

    override init() throws {
        try super.init()
        server.serve("/a.jpg", .ok(jpeg))
        server.serve("/b.jpg", .ok(jpeg))
    }

    private func status(_ folder: String) -> String { place.run(["batch", "status", folder, "--json"]).text }

    @Test("A table without a header is read with the given columns, and a row that does not match them is rejected")
    func headerless() throws {
        let (a, b) = (server.url("/a.jpg"), server.url("/b.jpg"))
        place.write("in.tsv", "a \"cat\t\(a)\nonly one field\nthree\t\(b)\t3\na dog\t\(b)\n")
        let result = batch(
            "in.tsv", "-o", "out", "--columns-are", "caption,url", "--caption-column", "caption", "--layout", "files")
        #expect(result.status == 0, "\(result.errors)")
        #expect(place.read("out/00000/000000000.txt").map { String(decoding: $0, as: UTF8.self) } == "a \"cat")
        #expect(place.read("out/00000/000000001.txt").map { String(decoding: $0, as: UTF8.self) } == "a dog")
        let rejects = String(decoding: try #require(place.read("out/rejects.jsonl")), as: UTF8.self)
        #expect(
            rejects.contains("in.tsv\",\"line\":2,\"reason\":\"The row has 1 field, --columns-are names 2.\""),
            "\(rejects)")
        #expect(rejects.contains("\"line\":3,") && rejects.contains("3 fields"))
        // The names of columns are options of the run.
        let other = batch("in.tsv", "-o", "out", "--columns-are", "text,url", "--layout", "files")
        #expect(other.status == 64, "\(other.errors)")
    }

    @Test("Columns that do not fit the input end the run with 65, and name it")
    func mismatches() {
        place.write("in.csv", "\(server.url("/a.jpg")),x\n")
        place.write("in.txt", server.url("/a.jpg") + "\n")
        place.write("empty.csv", "")
        for (arguments, text) in [
            (["in.csv", "--columns-are", "link,text"], "in.csv: The input has no column 'url'. Columns: link, text."),
            (["in.csv", "--columns-are", "url"], "in.csv: Its only row was rejected. Line 1: The row has 2 fields"),
            (["in.txt", "--columns-are", "url"], "in.txt: --columns-are names the columns of CSV and TSV"),
            (["empty.csv", "--columns-are", "url"], "The input is empty."),
        ] {
            let result = place.run(
                ["batch", "-o", "out"] + arguments + ["--format", "jpg", "--allow-private", "--ignore-robots"])
            #expect(result.status == 65 && result.errors.contains(text), "\(arguments): \(result.errors)")
            TemporaryDirectory.remove(place.appending("out"))
        }
        #expect(batch("in.csv", "-o", "out", "--columns-are", "url,url").status == 64)
    }

    @Test("A folder stands for its lists in the order of their names, and can be retried")
    func folders() throws {
        unsafe mkdir(place.appending("lists"), 0o755)
        unsafe mkdir(place.appending("lists/more.csv"), 0o755)
        unsafe mkdir(place.appending("none"), 0o755)
        place.write("lists/2.csv", "url,n\n\(server.url("/a.jpg")),2\n")
        place.write("lists/1.csv", "url,n\n\(server.url("/late.jpg")),1\n")
        place.write("lists/3.txt", server.url("/b.jpg") + "\n")
        place.write("lists/_SUCCESS", "")
        place.write("lists/.hidden.csv", "nothing")
        server.serve("/late.jpg", .status(503))
        let result = batch("lists", "-o", "out", "--layout", "files", "--retries", "0")
        #expect(result.status == 0, "\(result.errors)")
        #expect(status("out").contains(#""rows":3,"images":2,"#), "\(status("out"))")
        let second = String(decoding: try #require(place.read("out/00000/000000001.json")), as: UTF8.self)
        #expect(second.contains(#""n":"2""#), "\(second)")
        server.serve("/late.jpg", .ok(jpeg))
        #expect(place.run(["batch", "retry", "out"]).status == 0)
        #expect(status("out").contains(#""rows":3,"images":3,"#))
        let first = String(decoding: try #require(place.read("out/00000/000000000.json")), as: UTF8.self)
        #expect(first.contains(#""n":"1""#), "\(first)")
        #expect(batch("lists/", "-o", "text", "--input-format", "text").status == 0)
        #expect(status("text").contains(#""rows":1,"#))
        let empty = batch("none", "-o", "empty")
        #expect(empty.status == 65 && empty.errors.contains("none: The folder has no files"), "\(empty.errors)")
    }
}
