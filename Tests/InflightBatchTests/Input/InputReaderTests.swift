import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Input: files, patterns and standard input", .timeLimit(.minutes(10)))
struct InputReaderTests {
    private let directory = TemporaryDirectory()

    private static let formats: [(suffix: String, text: String)] = [
        ("txt", "http://a/1,2\n\nhttp://b\n"),
        ("jsonl", "{\"url\":\"http://a/1,2\"}\n\n{\"url\":\"http://b\"}\n"),
        ("csv", "url\n\"http://a/1,2\"\nhttp://b\n"),
        ("tsv", "x\turl\n1\thttp://a/1,2\n2\thttp://b\n"),
    ]

    @Test("The suffix of a file name tells the format, and the first bytes the compression", arguments: 0..<4)
    func detection(index: Int) {
        let (suffix, text) = Self.formats[index]
        let lines = suffix == "txt" || suffix == "jsonl" ? [1, 3] : [2, 3]
        let bodies = [Array(text.utf8), Compressed.gzip(text), Compressed.zstd(text)]
        for (end, body) in zip(["", ".gz", ".zst"], bodies) {
            // The name may also hide that a file is compressed, or claim it of one that is not.
            for name in ["a." + suffix + end, "b." + suffix, "c." + suffix + ".gz"] {
                directory.write(name, body)
                let result = readingFiles([directory.appending(name)])
                #expect(result.urls == ["http://a/1,2", "http://b"], "\(name)")
                #expect(result.rows.map(\.number) == [0, 1] && result.rows.map(\.line) == lines, "\(name)")
                #expect(result.failure == nil && result.rejects.isEmpty, "\(name)")
            }
        }
    }

    @Test("The number of rows is estimated by the bytes that were read, unless an input is not a file")
    func estimatedRowCount() throws {
        let text = (100..<1100).map { "http://example.org/\($0)\n" }.joined() + "\n\n"
        directory.write("1.txt", text)
        directory.write("2.txt", Compressed.gzip(text) + Compressed.gzip(text))
        for (names, count) in [(["1.txt"], 1000), (["1.txt", "2.txt"], 3000), (["2.txt"], 2000)] {
            let sources = try InputSource.expanding(names.map(directory.appending))
            let reader = InputReader(sources, options: .init())
            #expect(reader.estimatedRowCount == nil)
            while try reader.next() != nil {
                let estimate = Double(try #require(reader.estimatedRowCount))
                #expect(abs(estimate / Double(count) - 1) < 0.05, "\(names)")
            }
            #expect(reader.estimatedRowCount == count, "\(names)")
        }
        let input = InputPipe()
        input.write("http://a\n")
        input.end()
        let sources = try InputSource.expanding([directory.appending("1.txt"), "-"], format: .text)
        let reader = InputReader(sources, options: .init(), standardInput: input.reading)
        while try reader.next() != nil { #expect(reader.estimatedRowCount == nil) }
    }

    @Test("The number of rows is that of the files which standard input comes from")
    func partsRowCount() throws {
        let input = InputPipe()
        input.write("http://a\nhttp://b\n")
        input.end()
        var sources = try InputSource.expanding(["-"], format: .text)
        sources[0].parts = [.init(name: "a.parquet", rowCount: 2), .init(name: "b.parquet", rowCount: 5)]
        let reader = InputReader(sources, options: .init(), standardInput: input.reading)
        while try reader.next() != nil { #expect(reader.estimatedRowCount == 7) }
    }

    @Test("An explicit format takes precedence over the suffix")
    func explicitFormat() {
        directory.write("a.csv", "url\nu,v\n")
        directory.write("b", "x\n")
        let result = readingFiles([directory.appending("a.csv"), directory.appending("b")], .text)
        #expect(result.urls == ["url", "u,v", "x"] && result.failure == nil)
    }

    @Test("Rows of several inputs are numbered without gaps, rejects included, and lines start anew")
    func severalFiles() {
        directory.write("1.csv", "url,n\na,1\nb\nc,3\n")
        directory.write("2.jsonl", Compressed.zstd("{\"url\":\"d\"}\n\n{}\n"))
        directory.write("3.txt", "e\n")
        let result = readingFiles(["3.txt", "1.csv", "2.jsonl", "1.csv"].map(directory.appending))
        #expect(result.entries.map(\.source) == [0, 1, 1, 1, 2, 2, 3, 3, 3])
        #expect(result.urls == ["e", "a", "c", "d", "a", "c"])
        #expect(result.rows.map(\.number) == [0, 1, 3, 4, 6, 8])
        #expect(result.rows.map(\.line) == [1, 2, 4, 1, 2, 4])
        #expect(
            result.rejects == [
                .init(number: 2, line: 3, reason: .wrongNumberOfFields(1, header: 2)),
                .init(number: 5, line: 3, reason: .missingURL(member: "url")),
                .init(number: 7, line: 3, reason: .wrongNumberOfFields(1, header: 2)),
            ])
        #expect(result.failure == nil)
    }

    @Test("A pattern stands for the matching files in the order of their bytes")
    func pattern() throws {
        for name in ["b.txt", "a10.txt", "a2.txt", "ä.txt", "B.txt", "c.csv"] { directory.write(name, name + "\n") }
        let result = readingFiles([directory.appending("*.txt"), directory.appending("[b]?txt")])
        #expect(result.urls == ["B.txt", "a10.txt", "a2.txt", "b.txt", "ä.txt", "b.txt"])
        let sources = try InputSource.expanding([directory.appending("a?.*")])
        #expect(sources == [InputSource(path: directory.appending("a2.txt"), format: .text)])
    }

    @Test("An argument that names a file is no pattern")
    func fileNamedLikePattern() {
        for name in ["a[1].txt", "a1.txt", "*.txt"] { directory.write(name, name + "\n") }
        #expect(readingFiles(["a[1].txt", "*.txt"].map(directory.appending)).urls == ["a[1].txt", "*.txt"])
    }

    @Test("Members of gzip and frames of zstd may follow one another, across chunks")
    func concatenated() {
        // Made by other programs, with real compression and checksums: `http://a.example/1` and `http://b.example/2`.
        let gzip = """
            H4sIAAAAAAACA8soKSmw0tdP1EutSMwtyEnVN+QCAJYBYLUTAAAAH4sIAAAAAAACA8soKSmw0tdP0kutSMwtyEnVN+ICAKWA0+kTAAAA
            """
        let zstd = "KLUv/QRouQAAdXJsCmh0dHA6Ly9hLmV4YW1wbGUvMQqEZoGfKLUv/QRomQAAaHR0cDovL2IuZXhhbXBsZS8yCr0OvWc="
        directory.write("a.txt.gz", Self.repeated(Self.decoded(gzip), 5000))
        let urls = ["http://a.example/1", "http://b.example/2"]
        let result = readingFiles([directory.appending("a.txt.gz")])
        #expect(result.urls == Self.repeated(urls, 5000) && result.failure == nil)
        // The header of the CSV is in the first frame.
        directory.write("a.csv.zst", Self.repeated(Self.decoded(zstd), 5000))
        let rows = readingFiles([directory.appending("a.csv.zst")])
        #expect(rows.urls == Array(Self.repeated(["url"] + urls, 5000).dropFirst()) && rows.failure == nil)
    }

    @Test("Rows are read across chunks")
    func chunks() {
        let urls = (0..<20_000).map { "http://host.example/path/\($0)" }
        directory.write("a.txt", urls.joined(separator: "\n"))
        #expect(directory.read("a.txt").map { $0.count > 2 * InputFile.chunkSize } == true)
        #expect(readingFiles([directory.appending("a.txt")]).urls == urls)
    }

    @Test("A row of standard input is returned before the next is written")
    func standardInput() throws {
        let input = InputPipe()
        let sources = try InputSource.expanding(["-"], format: .csv)
        let reader = InputReader(sources, options: .init(), standardInput: input.reading)
        for number in 0..<3 {
            input.write(number == 0 ? "url,n\nhttp://0.example,1\n" : "http://\(number).example,1\n")
            guard case .row(let row)? = try reader.next()?.result else { return #expect(Bool(false), "no row") }
            #expect(row.url == "http://\(number).example" && row.line == number + 2 && row.number == number)
        }
        input.end()
        #expect(try reader.next() == nil)
        #expect(try reader.next() == nil)
        #expect(fcntl(input.reading, F_GETFD) >= 0, "The reader has closed standard input.")
    }

    @Test("Standard input may be compressed and come after a file, in pieces of a byte", arguments: [true, false])
    func compressedStandardInput(isGzip: Bool) {
        directory.write("a.txt", "a\n")
        let input = InputPipe()
        let text = "http://b.example\nhttp://c.example\n"
        let bytes = isGzip ? Compressed.gzip(text) : Compressed.zstd(text)
        let writer = JoinableThread(name: "writer") {
            for byte in bytes { input.write([byte]) }
            input.end()
        }
        let arguments = [directory.appending("a.txt"), "-"]
        let result = readingFiles(arguments, .text, standardInput: input.reading)
        writer.join()
        #expect(result.urls == ["a", "http://b.example", "http://c.example"])
        #expect(result.rows.map(\.number) == [0, 1, 2] && result.rows.map(\.line) == [1, 1, 2])
        #expect(result.failure == nil)
    }

    @Test("The reader waits for a non-blocking standard input")
    func nonBlocking() throws {
        let (input, received) = (InputPipe(), InputPipe())
        _ = fcntl(input.reading, F_SETFL, O_NONBLOCK)
        let count = 200
        // Each row is written after the one before has been received, so that the pipe is empty when the reader asks.
        let writer = JoinableThread(name: "writer") {
            for number in 0..<count {
                input.write("http://\(number).example\n")
                received.wait()
            }
            input.end()
        }
        defer { writer.join() }
        defer { received.end() }
        let sources = try InputSource.expanding(["-"], format: .text)
        let reader = InputReader(sources, options: .init(), standardInput: input.reading)
        for number in 0..<count {
            guard case .row(let row)? = try reader.next()?.result else { return #expect(Bool(false), "no row") }
            #expect(row.url == "http://\(number).example")
            received.write("1")
        }
        #expect(try reader.next() == nil)
    }

    private static func repeated<Element>(_ elements: [Element], _ count: Int) -> [Element] {
        Array(repeatElement(elements, count: count).joined())
    }

    private static func decoded(_ text: String) -> [UInt8] { Base64.decoded(Array(text.utf8)) ?? [] }
}
