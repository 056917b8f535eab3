import Glibc
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Runs whose rows come from standard input: what they keep for `retry`, and how they name rows.
@Suite(.timeLimit(.minutes(10)))
final class BatchStandardInputTests: EndToEndSuite {
    private static let options = ["--format", "png", "--allow-private", "--ignore-robots", "--retries", "0"]

    private func rows(_ paths: String...) -> String {
        paths.map { #"{"url":"\#(server.url($0))"}"# + "\n" }.joined()
    }

    private func run(_ input: String, _ options: String...) -> CommandResult {
        place.run(
            ["batch", "-", "-o", "out", "--input-format", "jsonl", "--shard-size", "2"] + Self.options + options,
            input: input)
    }

    @Test("The printed hint to retry works for rows of standard input, and the kept copy is part of the output")
    func retry() throws {
        server.serve("/late.jpg", .status(503))
        let input = rows("/good.jpg", "/late.jpg", "/gone.jpg")
        let first = run(input)
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.errors.contains("inflight batch retry out"))
        #expect(place.run(["batch", "verify", "out"]).status == 0)
        server.serve("/late.jpg", .ok(jpeg))
        let requests = server.requestCount
        // Its standard input is empty.
        let retry = place.run(["batch", "retry", "out"])
        #expect(retry.status == 0, "\(retry.errors)")
        #expect(server.requestCount == requests + 1)
        let status = place.run(["batch", "status", "out", "--json"])
        #expect(status.text.contains(#""rows":3,"images":2,"#), "\(status.text)")
        #expect(place.run(["batch", "verify", "out"]).status == 0)
        // The same command still resumes, also with more rows.
        server.serve("/new.jpg", .ok(jpeg))
        #expect(run(input + rows("/new.jpg")).status == 0)
        #expect(place.run(["batch", "status", "out", "--json"]).text.contains(#""rows":4,"images":3,"#))
        let later = place.run(["batch", "retry", "out", "--class", "http_404"])
        #expect(later.status == 0, "\(later.errors)")
        #expect(server.requestCount == requests + 3)
    }

    @Test("A run that was stopped keeps the copy of the one before, and its own once it has read the end")
    func stopped() throws {
        server.serve("/late.jpg", .status(503))
        server.serve("/slow.jpg", .ok(jpeg).held("slow"))
        #expect(run(rows("/late.jpg")).status == 0)
        let copy = try #require(place.read("out/input.zst"))
        let command = RunningCommand(
            ["batch", "-", "-o", "out", "--input-format", "jsonl", "--shard-size", "2"] + Self.options, in: place,
            input: nil)
        command.type(rows("/late.jpg", "/slow.jpg"))
        try server.blockUntilHeld("slow")
        command.signal(SIGKILL)
        _ = command.wait()
        #expect(place.read("out/input.zst") == copy)
        server.release("slow")
        #expect(run(rows("/late.jpg", "/slow.jpg")).status == 0)
        #expect(place.read("out/input.zst") != copy)
        #expect(!TemporaryDirectory.names(place.appending("out")).contains { $0.hasSuffix(".partial") })
    }

    @Test("A run without a copy, as those of 0.1.0, is retried with the same rows again")
    func withoutCopy() throws {
        server.serve("/late.jpg", .status(503))
        let input = rows("/late.jpg", "/good.jpg")
        #expect(run(input).status == 0)
        TemporaryDirectory.remove(place.appending("out/input.zst"))
        server.serve("/late.jpg", .ok(jpeg))
        #expect(place.run(["batch", "retry", "out"]).errors.contains("The input is empty"))
        #expect(place.run(["batch", "retry", "out"], input: rows("/late.jpg")).errors.contains("has 1 rows"))
        #expect(place.run(["batch", "retry", "out"], input: rows("/good.jpg", "/good.jpg")).errors.contains("differs"))
        // None of these inputs is kept.
        #expect(place.read("out/input.zst") == nil)
        #expect(place.run(["batch", "retry", "out"], input: input).status == 0)
        #expect(place.run(["batch", "status", "out", "--json"]).text.contains(#""rows":2,"images":2,"#))
    }

    @Test("Rejects and messages name the file and the row that a line of standard input comes from")
    func parts() throws {
        let good = rows("/good.jpg")
        let names = [
            "--rows-of", "/data/a=b.parquet=2", "--rows-of", "/data/empty.parquet=0", "--rows-of", "c.parquet=3",
        ]
        let arguments = ["batch", "-", "-o", "out", "--input-format", "jsonl"] + Self.options + names
        let input = good + "nonsense\n" + good + "[]\n" + good + "beyond\n"
        func rejects() throws -> [String] {
            String(decoding: try #require(place.read("out/rejects.jsonl")), as: UTF8.self)
                .split(separator: "\n").map { String($0.split(separator: #","reason""#)[0]) }
        }
        let expected = [
            #"{"file":"/data/a=b.parquet","line":2"#, #"{"file":"c.parquet","line":2"#,
            #"{"file":"standard input","line":6"#,
        ]
        #expect(place.run(arguments, input: input).status == 0)
        #expect(try rejects() == expected)
        #expect(place.run(["batch", "retry", "out", "--class", "http_404"]).status == 0)
        #expect(try rejects() == expected)
        let changed = place.run(arguments, input: good + "nonsense\n" + good + rows("/other.jpg"))
        #expect(
            changed.status == 65 && changed.errors.contains("c.parquet: row 4 (line 2) differs"), "\(changed.errors)")
        for (argument, text) in [("a.parquet", "--rows-of"), ("a=x", "--rows-of"), ("=1", "--rows-of")] {
            let result = place.run(["batch", "-", "-o", "o", "--rows-of", argument] + Self.options)
            #expect(result.status == 64 && result.errors.contains(text), "\(result.errors)")
        }
        place.write("in.txt", server.url("/good.jpg") + "\n")
        #expect(place.run(["batch", "in.txt", "-o", "o", "--rows-of", "a=1"] + Self.options).status == 64)
    }

    @Test(
        "If all rows of a file that standard input comes from are rejected, the status is 65, and the rest is downloaded"
    )
    func rejectedPart() {
        let names = ["--rows-of", "a.parquet=1", "--rows-of", "b.parquet=2", "--rows-of", "c.parquet=1"]
        let arguments = ["batch", "-", "-o", "out", "--input-format", "jsonl"] + Self.options + names
        let result = place.run(arguments, input: rows("/good.jpg") + "[]\n7\n" + rows("/late.jpg"))
        #expect(result.status == 65, "\(result.errors)")
        #expect(result.errors.contains("b.parquet") && !result.errors.contains("a.parquet"), "\(result.errors)")
        #expect(place.run(["batch", "status", "out", "--json"]).text.contains(#""rows":2,"#))
        let partial = place.run(
            ["batch", "-", "-o", "o"] + arguments.dropFirst(4),
            input: rows("/good.jpg") + "[]\n" + rows("/good.jpg") + "7\n")
        #expect(partial.status == 65 && partial.errors.contains("c.parquet"), "\(partial.errors)")
    }

    @Test("A URL as the folder of the output is refused by name, and creates nothing")
    func urls() throws {
        place.write("in.txt", server.url("/good.jpg") + "\n")
        unsafe mkdir(place.appending("s3:"), 0o755)
        for url in ["s3://bucket", "gs://bucket/data"] {
            let result = place.run(["batch", "in.txt", "-o", url] + Self.options)
            let reason = "\(url.quoted) for -o: \(url.prefix(2)) URLs are not supported"
            #expect(result.status == 64 && result.errors.contains(reason), "\(result.errors)")
        }
        #expect(place.run(["batch", "status", "s3://bucket"]).status == 64)
        #expect(TemporaryDirectory.names(place.appending("s3:")).isEmpty && server.requestCount == 0)
    }
}
