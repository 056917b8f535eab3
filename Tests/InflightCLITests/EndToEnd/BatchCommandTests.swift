import Glibc
import InflightBatch
import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

@testable import InflightCLI

/// `inflight batch`: its options, messages and exit statuses. `InflightBatchTests` cover the runs themselves.
@Suite(.timeLimit(.minutes(10)))
final class BatchCommandTests: EndToEndSuite {
    private static let options = ["--format", "png", "--allow-private", "--ignore-robots"]

    private func batch(_ arguments: String..., input: String = "") -> CommandResult {
        place.run(["batch"] + arguments + (arguments.contains("-o") ? Self.options : []), input: input)
    }

    private func write(_ lines: [String], to name: String = "in.txt") {
        place.write(name, lines.map { $0 + "\n" }.joined())
    }

    @Test("Options are parsed, and contradictions are usage errors")
    func options() throws {
        func parsed(_ arguments: String...) throws -> BatchOptions {
            let command = try Command.parse(["batch"] + arguments, standardOutputIsTerminal: false)
            guard case .batch(let options) = command else { throw UsageError("not a batch command") }
            return options
        }
        let run = try parsed(
            "a.csv", "b*.jsonl", "-o", "out", "--format", "jpeg", "--size", "256x", "--part", "3/8", "--part-by", "row",
            "--keys", "id", "--id-column", "key", "--columns", "a,b", "--staging", "2G", "--delay", "0.5", "--dedupe",
            "content", "--opt-out-policy", "noai,tdm-reservation", "--max-failure-rate", "0.25", "--layout", "hashed")
        #expect(run.inputs == ["a.csv", "b*.jsonl"] && run.folder == "out" && run.image.format == .jpeg)
        #expect(run.part?.number == 3 && run.part?.count == 8 && run.division == .row && run.keys == .id)
        #expect(run.ownColumns == ["a", "b"] && run.stagingLimit == 2 << 30 && run.delay == .milliseconds(500))
        #expect(run.deduplicatesContent && run.honoredSignals == [.noai, .tdmReservation])
        #expect(run.maximumFailureRate == 0.25 && run.form == .hashedFiles && run.resize?.width == 256)
        let retry = try parsed("retry", "out", "--class", "timedOut,http_503")
        #expect(retry.action == .retry && retry.folder == "out" && retry.retriedClasses == ["timedOut", "http_503"])
        #expect(try parsed("status", "out").action == .status)
        #expect(try parsed("./status", "-o", "x", "--format", "png").inputs == ["./status"])

        for (arguments, text) in [
            (["-o", "x", "--format", "png"], "No input given"),
            (["a.txt", "--format", "png"], "No output folder given"),
            (["a.txt", "-o", "x"], "No image format given"), (["--stream"], "No image format given"),
            (["a.txt", "-o", "x", "--format", "png", "--keys", "id"], "--keys id requires --id-column"),
            (["a.txt", "-o", "x", "--format", "png", "--part", "9/8"], "--part"),
            (["a.txt", "-o", "x", "--format", "png", "--max-failure-rate", "2"], "--max-failure-rate"),
            (["--stream", "a.txt", "--format", "png"], "--stream and inputs cannot be combined"),
            (["a.txt", "-o", "x", "--format", "png", "--binary"], "--binary can only be used with --stream"),
            (["status"], "No folder given"), (["status", "x", "--size", "1x1"], "can only be combined with"),
            (["a.txt", "-o", "s3://bucket/x", "--format", "png"], "s3 URLs are not supported"),
            (["--stream", "--format", "png", "--files", "gs://bucket"], "gs URLs are not supported"),
            (["a.txt", "-o", "x", "--class", "timedOut"], "--class can only be used with retry"),
        ] as [([String], String)] {
            let error = #expect(throws: UsageError.self) {
                _ = try Command.parse(["batch"] + arguments, standardOutputIsTerminal: false)
            }
            #expect(error?.message.contains(text) == true, "\(arguments): \(error?.message ?? "")")
        }
    }

    @Test("A run prints its counts and failures by class, resumes, and can be inspected, verified and retried")
    func run() throws {
        server.serve("/a.jpg", .ok(jpeg))
        server.serve("/late.jpg", .status(503))
        write([server.url("/a.jpg"), server.url("/gone.jpg"), server.url("/late.jpg"), "nonsense"])
        let first = batch("in.txt", "-o", "out", "--retries", "0", "--strict")
        #expect(first.status == 75, "\(first.errors)")
        #expect(first.errors.contains("1 × http_404: 127.0.0.1 1") && first.errors.contains("1 × invalidURL"))
        #expect(first.errors.contains("To retry 1 transient failure: inflight batch retry out"))
        let requests = server.requestCount
        #expect(batch("in.txt", "-o", "out", "--retries", "0").status == 0 && server.requestCount == requests)
        let status = place.run(["batch", "status", "out", "--json"])
        #expect(status.status == 0 && status.text.contains(#""rows":4,"images":1,"#), "\(status.text)")
        #expect(place.run(["batch", "verify", "out"]).status == 0)
        server.serve("/late.jpg", .ok(jpeg))
        #expect(place.run(["batch", "retry", "out"]).status == 0 && server.requestCount == requests + 1)
        #expect(place.run(["batch", "status", "out", "--json"]).text.contains(#""images":2,"#))
        let rate = batch("in.txt", "-o", "out", "--retries", "0", "--max-failure-rate", "0.4")
        #expect(rate.status == 1)
    }

    @Test("The summary names the package that decodes formats of failed rows, if it is not installed")
    func missingPackage() throws {
        server.serve("/a.avif", .ok(Bytes(AVIFFixtures.plain), type: "image/avif"))
        write([server.url("/a.avif")])
        unsafe symlink(BuiltProgram.path("inflight-decoder"), place.appending("decoder"))
        let environment = ["INFLIGHT_DECODER": place.appending("decoder")]
        let result = place.run(["batch", "in.txt", "-o", "out"] + Self.options, environment: environment)
        #expect(result.errors.contains("1 × unsupportedFormat"), "\(result.errors)")
        #expect(
            result.errors.contains(
                "Install inflight-decoder-vips to decode AVIF, HEIC, JPEG XL, TIFF and SVG.\n"
                    + "Then retry: inflight batch retry out --class unsupportedFormat\n"), "\(result.errors)")
        // With the package, the row succeeds.
        let retry = place.run("batch", "retry", "out", "--class", "unsupportedFormat")
        #expect(retry.status == 0 && !retry.errors.contains("Install"), "\(retry.errors)")
        #expect(place.run("batch", "status", "out", "--json").text.contains(#""images":1,"#))
    }

    @Test("Bad input and output folders have their own exit statuses and clear messages")
    func refusals() throws {
        server.serve("/a.jpg", .ok(jpeg))
        write([server.url("/a.jpg")])
        place.write("empty.txt", "")
        place.write("image.txt", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 0x0D])
        place.write("table.csv", "link,text\nhttp://h/,x\n")
        place.write("file", "")
        place.write("open.csv", "url\n\"never closed\n")
        unsafe mkdir(place.appending("foreign"), 0o755)
        place.write("foreign/other.txt", "")
        for (arguments, status, text) in [
            (["empty.txt", "-o", "o1"], 65, "The input is empty."), (["image.txt", "-o", "o2"], 65, "a PNG image"),
            (["table.csv", "-o", "o3"], 65, "no column 'url'. Columns: link, text"),
            (["missing.txt", "-o", "o4"], 66, "missing.txt: Cannot open the input"),
            (["in.txt", "-o", "file"], 73, "file is not a folder"),
            (["in.txt", "-o", "foreign"], 73, "contains other files"),
            (["in.txt", "-o", "no/such/folder"], 73, "No such file or directory"),
            (["in.txt", "-o", "foreign", "--report", "no/report.html"], 73, "Cannot write the report"),
        ] as [([String], Int32, String)] {
            let result = place.run(["batch"] + arguments + Self.options)
            #expect(result.status == status && result.errors.contains(text), "\(arguments): \(result.errors)")
        }
        #expect(place.run(["batch", "status", "foreign"]).status == 66)
        #expect(batch("in.txt", "-o", "ok").status == 0)
        let changed = batch("in.txt", "-o", "ok", "--size", "5x5")
        #expect(changed.status == 64 && changed.errors.contains("size was not set, is '5x5'"), "\(changed.errors)")
        place.write("in.txt", server.url("/b.jpg") + "\n")
        let other = batch("in.txt", "-o", "ok")
        #expect(other.status == 65 && other.errors.contains("row 1 (line 1) differs"), "\(other.errors)")
        let unclosed = batch("open.csv", "-o", "o5")
        #expect(unclosed.status == 65 && unclosed.errors.contains("1 malformed row"), "\(unclosed.errors)")
    }

    /// The number of rows, images and failures of a run, by `batch status`.
    private func counts(_ folder: String) -> [Int] {
        let text = place.run(["batch", "status", folder, "--json"]).text
        return ["rows", "images", "failures"].map { name in
            let start = text.firstRange(of: "\"\(name)\":")?.upperBound ?? text.endIndex
            return Int(text[start...].prefix { $0.isNumber }) ?? -1
        }
    }

    @Test("A JSON array is read, and an input of which no row can be used ends with 65")
    func jsonArray() throws {
        server.serve("/a.jpg", .ok(jpeg))
        let row = "{\"url\": \" \(server.url("/a.jpg"))\\n\", \"n\": 1}"
        for (index, text) in ["[\(row)]", "[\n \(row)\n]\n", "\(row)\n"].enumerated() {
            place.write("in.json", text)
            let result = batch("in.json", "-o", "array\(index)", "--quiet")
            #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
            #expect(counts("array\(index)") == [1, 1, 0])
        }
        place.write("bad.json", "[1, {\"link\": \"x\"}]")
        let bad = batch("bad.json", "-o", "bad", "--quiet")
        #expect(bad.status == 65, "\(bad.errors)")
        #expect(bad.errors.contains("bad.json: All 2 rows were rejected. Line 1: The row is not a JSON object."))
        #expect(bad.errors.contains("2 malformed rows skipped, listed in bad/rejects.jsonl"))
        #expect(try #require(place.read("bad/rejects.jsonl")).count { $0 == 0x0A } == 2)
        // The other inputs are downloaded, and the status is the same.
        let both = batch("bad.json", "in.json", "-o", "both")
        #expect(both.status == 65 && counts("both") == [1, 1, 0], "\(both.errors)")
    }

    @Test(
        "A JSON array with an element of any size or depth, or without an end, costs that element only",
        .enabled(if: !Sanitizer.isOn, "it is long, and reads rows in Swift alone"))
    func hostileArrays() throws {
        server.serve("/a.jpg", .ok(jpeg))
        let row = "{\"url\":\"\(server.url("/a.jpg"))\"}"
        let deep = String(repeating: "[", count: 100_000)
        let long = "{\"url\":\"" + String(repeating: "x", count: 64 << 20) + "\"}"
        for (index, text) in [
            "[\(row),\(deep)\(String(repeating: "]", count: 100_000)),\(row)]", "[\(row),\(long),\(row)]",
            "[\(row),\(row),{\"url\":\"htt", "[\(row),\(row)",
        ].enumerated() {
            place.write("in.json", text)
            let result = batch("in.json", "-o", "out\(index)", "--quiet")
            #expect(result.status == 0 && result.errors.contains("1 malformed row skipped"), "\(result.errors)")
            #expect(counts("out\(index)") == [2, 1, 0], "\(index)")
        }
    }

    @Test("No caption with a quote takes rows with it, in TSV and in CSV")
    func quotes() throws {
        server.serve("/a.jpg", .ok(jpeg))
        let captions = ["plain", "\"Nice\" he said", "\"Never closed", "a \"b", "\"again", "end\"", "plain"]
        for (suffix, separator, options, expected) in [
            ("tsv", "\t", [], [7, 0]), ("csv", ",", ["--quoting", "none"], [7, 0]), ("csv", ",", [], [4, 3]),
            // RFC 4180: one of the fields has two lines.
            ("tsv", "\t", ["--quoting", "csv"], [4, 2]),
        ] as [(String, String, [String], [Int])] {
            let name = "out-\(suffix)-\(options.count)"
            write(
                ["url\(separator)caption"] + captions.map { server.url("/a.jpg") + separator + $0 }, to: "in.\(suffix)")
            let arguments = ["batch", "in.\(suffix)", "-o", name, "--caption-column", "caption"]
            let result = place.run(arguments + options + Self.options)
            let rejects = place.read("\(name)/rejects.jsonl").map { $0.count { $0 == 0x0A } }
            #expect(result.status == 0 && [counts(name)[0], rejects ?? 0] == expected, "\(name): \(result.errors)")
        }
    }

    @Test(
        "A row with a NUL byte is rejected wherever it is, and the others are downloaded",
        .enabled(if: !Sanitizer.isOn, "it is long, and reads rows in Swift alone"))
    func nulBytes() throws {
        server.serve("/a.jpg", .ok(jpeg))
        let good = (0..<2000).map { _ in server.url("/a.jpg") + ",caption" }
        for (index, position) in [0, 2000].enumerated() {
            var rows = good
            rows.insert(server.url("/nul.jpg") + ",nul\0here", at: position)
            write(["url,caption"] + rows, to: "in.csv")
            let result = batch("in.csv", "-o", "out\(index)", "--caption-column", "caption")
            #expect(result.status == 0 && counts("out\(index)")[0] == 2000, "\(result.errors)")
            #expect(result.errors.contains("1 malformed row skipped"))
        }
    }

    @Test("A row whose URL is null or empty has a line, a key and a class, and a null caption stays null")
    func rowsWithoutURL() throws {
        server.serve("/a.jpg", .ok(jpeg))
        let url = server.url("/a.jpg")
        write(
            [#"{"url":null,"c":"x"}"#, #"{"url":"\#(url)","c":null}"#, #"{"url":" ","c":["a",1]}"#], to: "in.jsonl")
        let result = batch("in.jsonl", "-o", "out", "--caption-column", "c", "--layout", "files")
        #expect(result.status == 0 && result.errors.contains("2 × invalidURL: invalid URLs 2"), "\(result.errors)")
        #expect(counts("out") == [3, 1, 2] && place.run(["batch", "verify", "out"]).status == 0)
        // The key is the number of the row.
        let sample = String(decoding: try #require(place.read("out/00000/000000001.json")), as: UTF8.self)
        #expect(sample.contains(#""c":null"#) && sample.contains(#""key":"000000001""#), "\(sample)")
        #expect(place.read("out/00000/000000001.txt")?.isEmpty == true)
    }

    @Test("The shortest side and a padding are options of the run, however they are spelled")
    func geometry() throws {
        server.serve("/a.png", .ok(try TestImages.make(.png, 60, 40)))
        write([server.url("/a.png")])
        #expect(batch("in.txt", "-o", "out", "--layout", "files", "--shortest", "20").status == 0)
        #expect(try TestImages.decode(place.read("out/00000/000000000.png")).1.width == 30)
        #expect(batch("in.txt", "-o", "out", "--layout", "files", "--size", "20x20", "--fit", "outside").status == 0)
        let other = batch("in.txt", "-o", "out", "--layout", "files", "--shortest", "20", "--keep-smaller")
        #expect(other.status == 64 && other.errors.contains("keep-smaller was not set"), "\(other.errors)")
        let pad = ["--layout", "files", "--size", "64x64", "--fit", "pad"]
        #expect(place.run(["batch", "in.txt", "-o", "pad"] + pad + Self.options).status == 0)
        #expect(try TestImages.decode(place.read("pad/00000/000000000.png")).1.height == 64)
        #expect(place.run(["batch", "verify", "pad"]).status == 0)
    }

    @Test("--columns leaves the other columns out without a warning")
    func ownColumns() throws {
        server.serve("/a.jpg", .ok(jpeg))
        write(["{\"url\":\"\(server.url("/a.jpg"))\",\"a\":1,\"b\":2}"], to: "in.jsonl")
        let result = batch("in.jsonl", "-o", "out", "--columns", "a")
        #expect(result.status == 0 && !result.errors.contains("columns"), "\(result.errors)")
    }

    @Test("A retry of an unknown class of failures is a usage error that lists those of the run")
    func unknownClass() throws {
        write([server.url("/gone.jpg")])
        #expect(batch("in.txt", "-o", "out").status == 0)
        let result = place.run(["batch", "retry", "out", "--class", "nosuch"])
        #expect(result.status == 64, "\(result.errors)")
        #expect(result.errors.contains("nosuch") && result.errors.contains("Its classes: http_404"))
        for name in ["http_404", "http_503", "timedOut", "host_not_found"] {
            #expect(place.run(["batch", "retry", "out", "--class", name]).status == 0, "\(name)")
        }
    }

    @Test("A run resumes from an input that was moved or renamed, and refuses one with other rows")
    func renamedInput() throws {
        server.serve("/a.jpg", .ok(jpeg))
        write([server.url("/a.jpg"), server.url("/b.jpg")])
        #expect(batch("in.txt", "-o", "out").status == 0)
        let requests = server.requestCount
        write([server.url("/a.jpg"), server.url("/b.jpg")], to: "renamed.txt")
        let renamed = batch("renamed.txt", "-o", "out")
        #expect(renamed.status == 0 && server.requestCount == requests, "\(renamed.errors)")
        write([server.url("/a.jpg"), server.url("/c.jpg")], to: "other.txt")
        let other = batch("other.txt", "-o", "out")
        #expect(other.status == 65 && other.errors.contains("row 2 (line 2) differs"), "\(other.errors)")
        #expect(other.errors.contains("renamed.txt)"), "\(other.errors)")
    }

    @Test("Standard input is read as rows arrive, and Ctrl-C says how to resume")
    func interruption() throws {
        server.serve("/slow.jpg", .ok(jpeg).held("slow"))
        let command = RunningCommand(
            ["batch", "-", "-o", "out", "--input-format", "text"] + Self.options, in: place, input: nil)
        command.type(server.url("/slow.jpg") + "\n")
        try server.blockUntilHeld("slow")
        command.signal(SIGINT)
        let result = command.wait()
        #expect(result.status == 130 && result.errors.contains("To resume, run the same command again."))
    }

    @Test("Only one run uses a folder, and addresses of this machine are refused without --allow-private")
    func limits() throws {
        server.serve("/slow.jpg", .ok(jpeg).held("slow"))
        write([server.url("/slow.jpg")])
        let command = RunningCommand(["batch", "in.txt", "-o", "out"] + Self.options, in: place)
        try server.blockUntilHeld("slow")
        let second = batch("in.txt", "-o", "out")
        #expect(second.status == 73 && second.errors.contains("Another run writes to out"))
        server.release("slow")
        #expect(command.wait().status == 0)
        let refused = place.run(["batch", "in.txt", "-o", "other", "--format", "png", "--ignore-robots", "--strict"])
        #expect(refused.errors.contains("1 × addressNotAllowed"), "\(refused.errors)")
    }

    @Test("A stream answers rows on standard output")
    func stream() throws {
        server.serve("/a.jpg", .ok(jpeg))
        let rows = #"{"id":"x","url":"\#(server.url("/a.jpg"))"}"# + "\n"
        let result = place.run(
            ["batch", "--stream", "--format", "jpeg", "--size", "8x8", "--allow-private", "--ignore-robots"],
            input: rows)
        let lines = result.text.split(separator: "\n")
        #expect(result.status == 0 && lines.count == 2 && lines[0].hasPrefix(#"{"protocol":1,"version":""#))
        #expect(lines[1].hasPrefix(#"{"id":"x","line":1,"status":"success","#))
    }

    @Test("The report is one page with totals and a sample, and --json has an event per line")
    func report() throws {
        server.serve("/a.jpg", .ok(jpeg))
        write([server.url("/a.jpg"), server.url("/gone.jpg")])
        let result = batch("in.txt", "-o", "out", "--report", "report.html", "--json")
        #expect(result.status == 0)
        let lines = result.text.split(separator: "\n")
        #expect(
            lines.first?.hasPrefix(#"{"event":"start""#) == true && lines.last?.hasPrefix(#"{"event":"end""#) == true)
        let page = String(decoding: try #require(place.read("report.html")), as: UTF8.self)
        #expect(page.lowercased().hasPrefix("<!doctype html>") && page.contains("http_404"))
    }

    @Test("A disk that fills half way ends the run with 73, and the same command completes it")
    func fullDisk() throws {
        let large = try TestImages.codecs.encode(
            TestImages.noise(200, 200, seed: 1), options: EncodeOptions(format: .png))
        for index in 0..<60 { server.serve("/\(index).png", .ok(large)) }
        write((0..<60).map { server.url("/\($0).png") })
        // A file has at most 1,024 blocks of 512 bytes, more than the journal and less than the images. Writing beyond
        // fails as on a full disk.
        let arguments = ["batch", "in.txt", "-o", "out", "--keys", "digest", "--concurrency", "4"] + Self.options
        let full = place.run(arguments, prefix: "ulimit -f 1024")
        #expect(full.status == 73 && full.errors.contains("Cannot write"), "\(full.errors)")
        let requests = server.requestCount
        let complete = place.run(arguments)
        #expect(complete.status == 0, "\(complete.errors)")
        #expect(place.run(["batch", "verify", "out"]).status == 0)
        // Only rows in flight are requested again.
        #expect(requests < 60 && server.requestCount <= 60 + 4)
    }

    @Test("A robots.txt that is HTML, endless or a redirect loop, and hosts that do not resolve, do not stop a run")
    func robots() throws {
        let (html, endless, loop) = (try LoopbackServer(), try LoopbackServer(), try LoopbackServer())
        for server in [html, endless, loop] { server.serve("/a.jpg", .ok(jpeg)) }
        html.serve("/robots.txt", .ok(Bytes("<!doctype html><p>Disallow: /</p>"), type: "text/html"))
        endless.serve("/robots.txt", .endless(Bytes("User-agent: other\nDisallow: /\n")))
        loop.serve("/robots.txt", .redirect(to: "/robots.txt"))
        write([html, endless, loop].map { $0.url("/a.jpg") } + ["http://no-such-host.invalid/a.jpg"])
        let result = place.run([
            "batch", "in.txt", "-o", "out", "--format", "png", "--allow-private", "--retries", "0", "--json",
        ])
        #expect(result.status == 0, "\(result.errors)")
        #expect(endless.requests(of: "/robots.txt").first?.fields["Range"] == "bytes=0-511999")
        // No file (RFC 9309 section 2.3.1.2 and 2.3.1.3): allowed. Endless, or no address: unreachable, so disallowed.
        // Both failures have the class of their cause. Without DNS servers, no name is known not to exist.
        #expect(result.text.contains(#""images":2,"#) && result.text.contains(#""tooLarge":1"#), "\(result.text)")
        #expect(result.text.contains(#""host_not_found":1"#) || result.text.contains(#""cannotConnect":1"#))
    }
}
