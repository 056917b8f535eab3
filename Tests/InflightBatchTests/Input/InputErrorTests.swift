import CDiskFaults
import Glibc
import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Input: files that cannot be read", .timeLimit(.minutes(10)))
struct InputErrorTests {
    private let directory = TemporaryDirectory()

    /// Reads one file with those bytes.
    private func reading(
        _ name: String, _ bytes: [UInt8], _ options: InputOptions = .init()
    ) -> FilesReading {
        directory.write(name, bytes)
        let reading = readingFiles([directory.appending(name)], nil, options)
        #expect(reading.failure == nil || reading.name == directory.appending(name))
        return reading
    }

    private func reading(_ name: String, _ text: String, _ options: InputOptions = .init()) -> FilesReading {
        reading(name, Array(text.utf8), options)
    }

    @Test("A missing file is an error before the first row is read")
    func missing() {
        directory.write("a.txt", "a\n")
        let result = readingFiles([directory.appending("a.txt"), directory.appending("b.txt")])
        let path = directory.appending("b.txt")
        #expect(result.failure == .input(InputFailure(name: path, error: .cannotOpen(code: ENOENT))))
        #expect(result.failure?.description == "\(path): Cannot open the input: No such file or directory.")
        #expect(result.entries.isEmpty)
        #expect(readingFiles([directory.appending("a.txt/b.txt")]).error == .cannotOpen(code: ENOTDIR))
    }

    @Test("A file that was removed after the check is an error")
    func removed() throws {
        directory.write("a.txt", "a\n")
        let sources = try InputSource.expanding([directory.appending("a.txt")])
        TemporaryDirectory.remove(directory.appending("a.txt"))
        let reader = InputReader(sources, options: .init())
        for _ in 0..<2 {
            #expect(throws: BatchFailure.input(InputFailure(name: sources[0].name, error: .cannotOpen(code: ENOENT)))) {
                try reader.next()
            }
        }
    }

    @Test("A file or folder that the user may not read is an error")
    func unreadable() {
        directory.write("a.txt", "a\n")
        let folder = directory.appending("folder")
        #expect(unsafe chmod(directory.path, 0o755) == 0 && chmod(directory.appending("a.txt"), 0) == 0)
        #expect(unsafe mkdir(folder, 0) == 0)
        let arguments = [directory.appending("a.txt"), folder + "/*.txt", folder + "/a.txt"]
        let errors = Guarded<[InputError?]>([])
        // Modes do not apply to root.
        let thread = JoinableThread(name: "other user") {
            if geteuid() == 0 { disk_faults_become(65534) }
            let result = arguments.map { readingFiles([$0]).error }
            errors.withLock { $0 = result }
        }
        thread.join()
        #expect(errors.withLock { $0 } == Array(repeating: .cannotOpen(code: EACCES), count: 3))
    }

    @Test("A folder without lists is an error, and any folder as standard input")
    func folder() {
        let result = readingFiles([directory.path])
        #expect(result.failure == .input(InputFailure(name: directory.path, error: .folderWithoutInputs)))
        let descriptor = unsafe open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(descriptor) }
        let input = readingFiles(["-"], .text, standardInput: descriptor)
        #expect(input.failure == .input(InputFailure(name: "standard input", error: .folder)))
    }

    @Test("A closed standard input is an error")
    func closedStandardInput() {
        #expect(readingFiles(["-"], .text, standardInput: -1).error == .cannotOpen(code: EBADF))
    }

    @Test("A pattern without a match is an error, also in a missing folder")
    func noMatch() {
        directory.write("a.txt", "a\n")
        for name in ["*.csv", "none/*.txt", "a.txt/*", "[b].txt"] {
            let pattern = directory.appending(name)
            let result = readingFiles([directory.appending("a.txt"), pattern])
            #expect(result.failure == .input(InputFailure(name: pattern, error: .noMatch)))
            #expect(result.entries.isEmpty)
        }
    }

    @Test("A name without a known suffix, and standard input, need an explicit format")
    func unknownFormat() {
        directory.write("a.gz", Compressed.gzip("a\n"))
        #expect(readingFiles([directory.appending("a.gz")]).error == .unknownFormat)
        #expect(readingFiles([directory.appending("a.gz")], .text).urls == ["a"])
        #expect(readingFiles(["-"]).failure == .input(InputFailure(name: "standard input", error: .unknownFormat)))
    }

    @Test("A Parquet file, and a folder of them, are errors that name the program to use")
    func parquet() {
        directory.write("a.Parquet", "PAR1")
        unsafe mkdir(directory.appending("none"), 0o755)
        let expected = "python -m inflight batch LIST.parquet -o DIR"
        for name in ["a.Parquet", "*.Parquet", "none/../"] {
            let result = readingFiles([directory.appending(name)])
            #expect(result.error == .parquet && result.error?.description.contains(expected) == true, "\(name)")
        }
        let given = readingFiles([directory.appending("a.Parquet")], .csv)
        #expect(given.error == .binary(kind: "a Parquet file"))
        #expect(given.error?.description.contains(expected) == true)
        directory.write("b.txt", "a\n")
        #expect(readingFiles([directory.path]).urls == ["a"])
    }

    @Test("An input whose reading fails is an error")
    func readError() {
        #expect(readingFiles(["/proc/self/mem"], .text).error == .cannotRead(code: EIO))
    }

    @Test("A binary file is an error, also if it is compressed")
    func binary() {
        #expect(reading("a.txt", [0xFF, 0xD8, 0xFF, 0xE0, 0, 0]).error == .binary(kind: "a JPEG image"))
        #expect(reading("a.csv", "url\n\0\0\0\n").error == .binary(kind: nil))
        #expect(reading("a.jsonl.zst", Compressed.zstd("{}\0\0\0\0\0\0\0\0\0\0\0")).error == .binary(kind: nil))
        let twice = Compressed.zstd("PAR1 and then more")
        #expect(reading("b.txt.zst", twice).error == .binary(kind: "a Parquet file"))
    }

    @Test("An endless line of zeros is an error after a few chunks")
    func zeros() {
        #expect(readingFiles(["/dev/zero"], .csv).error == .binary(kind: nil))
    }

    @Test("An empty input is an error, also if it is compressed, and ends the run")
    func empty() {
        for (name, bytes) in [
            ("a.txt", []), ("a.txt.gz", Compressed.gzip("")), ("a.txt.zst", Compressed.zstd("\n\n")),
        ] as [(String, [UInt8])] {
            #expect(reading(name, bytes).error == .empty(header: false))
        }
        #expect(reading("a.csv", "url\n").error == .empty(header: true))
        directory.write("b.txt", "b\n")
        let result = readingFiles(["b.txt", "a.txt", "b.txt"].map(directory.appending))
        #expect(result.urls == ["b"] && result.name == directory.appending("a.txt"))
    }

    @Test("A missing column is an error that names the input and its columns")
    func missingColumn() {
        let result = reading("a.csv.gz", Compressed.gzip("link,x\nu,1\n"))
        #expect(result.error == .missingColumn("url", columns: ["link", "x"]))
        let message = "/a.csv.gz: The input has no column 'url'. Columns: link, x."
        #expect(result.failure?.description == directory.path + message)
    }

    @Test("Rows before truncated or corrupt data are returned, the incomplete one is not")
    func truncated() {
        let gzip = reading("a.txt.gz", Array(Compressed.gzip("aaaaaaaaaa\nbbbbbbbbbb\ncccc").dropLast(10)))
        #expect(gzip.urls == ["aaaaaaaaaa", "bbbbbbbbbb"] && gzip.error == .truncated(.gzip))
        #expect(gzip.failure?.description.hasSuffix("a.txt.gz: The gzip data is truncated.") == true)
        let zstd = reading("a.txt.zst", Compressed.zstd("aaaaaaaaaaaa\n") + Compressed.zstd("bc").dropLast(1))
        #expect(zstd.urls == ["aaaaaaaaaaaa"] && zstd.error == .truncated(.zstd))
        let corrupt = reading("b.txt.zst", Compressed.zstd("aaaaaaaaaaaa\n") + [1, 2, 3, 4])
        #expect(corrupt.urls == ["aaaaaaaaaaaa"] && corrupt.error == .corrupt(.zstd))
    }

    @Test("A quote that is never closed rejects its line, in a small file and beyond the row limit")
    func quote() {
        let rows = (0..<40_000).map { "r\($0),some more text\n" }.joined()
        for text in ["url,a\nu,\"2\nv,3\n", "url,a\nu,\"2\n" + rows] {
            let options = inputOptions { $0.rowLimit = 100_000 }
            let result = reading("a.csv", text, options)
            #expect(result.rejects == [.init(number: 0, line: 2, reason: .quoteNeverClosed(line: 2))])
            #expect(result.rows.count == (text.utf8.count < 100 ? 1 : 40_000) && result.failure == nil)
        }
    }

    @Test("A line beyond the limit is rejected, though it compresses well, and the next is read")
    func longLine() {
        let line = Compressed.zstd(UInt8(ascii: "a"), blocks: 32)
        let bytes = Compressed.zstd("http://a\n") + line + Compressed.zstd("\nhttp://b\n")
        let result = reading("a.txt.zst", bytes)
        #expect(result.urls == ["http://a", "http://b"] && result.failure == nil)
        #expect(result.rejects == [.init(number: 1, line: 2, reason: .tooLong(limit: 1 << 20))])
    }

    @Test("Control characters of a file name do not reach the message")
    func hostileName() {
        let failure = InputFailure(name: "a\u{1B}[2J\n.txt", error: .folder)
        #expect(failure.description.hasPrefix("a?[2J?.txt: The input is a folder."))
    }

    @Test("Closed inputs leave no open file")
    func descriptors() {
        directory.write("a.txt", "a\n")
        directory.write("b.csv", "link\na\n")
        let before = Self.count(of: directory.path)
        for _ in 0..<3 {
            _ = readingFiles(["a.txt", "a.txt", "b.csv"].map(directory.appending))
            _ = readingFiles([directory.appending("*.txt")])
        }
        #expect(Self.count(of: directory.path) == before)
    }

    /// Returns the number of this process's open files below a folder. Other tests open others meanwhile.
    private static func count(of folder: String) -> Int {
        TemporaryDirectory.names("/proc/self/fd").count { name in
            var target = [UInt8](repeating: 0, count: 4096)
            let length = unsafe target.withUnsafeMutableBytes {
                unsafe readlink("/proc/self/fd/" + name, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
            }
            return length > 0 && target[..<length].starts(with: folder.utf8)
        }
    }
}
