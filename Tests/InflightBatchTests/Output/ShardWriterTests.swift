import Glibc
import InflightCodings
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Shards on disk", .timeLimit(.minutes(5)))
struct ShardWriterTests {
    private let directory = TemporaryDirectory()

    private func configuration(_ form: ShardWriter.Form, hasCaptions: Bool = true) throws -> ShardWriter.Configuration {
        ShardWriter.Configuration(
            folder: directory.path, layout: try #require(ShardLayout(shardSize: 3)), form: form,
            schema: SidecarSchema(), imageExtension: .fixed("jpg"), hasCaptions: hasCaptions)
    }

    private static let bodies: [[UInt8]] = [[1, 2, 3], [UInt8](repeating: 7, count: 600_000)]

    private func row(_ index: Int, _ status: SidecarRow.Status = .success) -> SidecarRow {
        var row = SidecarRow(url: "http://h/\(index)", key: "00000000\(index)", status: status)
        row.image.sha256 = ContentDigest([UInt8](repeating: UInt8(0xA0 + index), count: 32))
        return row
    }

    private func image(_ name: String) throws -> FileRange { try StoredFile(directory.appending(name)).whole }

    /// Adds two images, of 3 and of 600,000 bytes, around a failure.
    private func write(_ configuration: ShardWriter.Configuration) throws -> ShardStats {
        directory.write("0", Self.bodies[0])
        directory.write("2", Self.bodies[1])
        let writer = try ShardWriter(0, configuration)
        try writer.add(row(0), .image(image("0"), caption: "ä"))
        try writer.add(row(1, .failedToDownload), .failure(class: "dns"))
        try writer.add(row(2), .image(image("2")))
        let stats = try writer.finish(duration: .seconds(1))
        for name in ["0", "2"] { unsafe unlink(directory.appending(name)) }
        return stats
    }

    private func decoded(_ bytes: [UInt8]) throws -> String {
        let coding = try #require(ContentCodings.standard.first { $0.names.contains("zstd") })
        let decoder = try #require(coding.makeDecoder())
        var output: [UInt8] = []
        _ = unsafe try bytes.withUnsafeBytes { bytes in
            unsafe try decoder.decode(bytes) {
                unsafe output.append(contentsOf: $0)
                return true
            }
        }
        try decoder.finish()
        return String(decoding: output, as: UTF8.self)
    }

    private var sidecar: String {
        [row(0), row(1, .failedToDownload), row(2)]
            .map { String(decoding: $0.line(SidecarSchema()), as: UTF8.self) }.joined()
    }

    @Test("An archive has the members of each sample side by side, and is the same again")
    func archive() throws {
        let stats = try write(configuration(.webdataset))
        #expect(stats.successes == 2 && stats.failureClasses == ["dns": 1] && stats.byteCount == 600_003)
        var archive = TarArchive()
        var expected: [UInt8] = []
        for (index, caption) in [(0, "ä"), (2, "")] {
            expected += try archive.member("00000000\(index).jpg", body: Self.bodies[index / 2])
            expected += try archive.member("00000000\(index).json", body: row(index).json(SidecarSchema()))
            expected += try archive.member("00000000\(index).txt", body: Array(caption.utf8))
        }
        expected += archive.end()
        #expect(directory.holds("00000.tar", expected))
        let compressed = try #require(directory.read("00000.jsonl.zst"))
        #expect(try decoded(compressed) == sidecar)
        #expect(directory.holds("00000_stats.json", stats.json))
        let (start, end) = (try #require(stats.startTime), try #require(stats.endTime))
        #expect(end - start == .seconds(1) && start > .seconds(1_700_000_000))
        #expect(
            TemporaryDirectory.names(directory.path).sorted() == ["00000.jsonl.zst", "00000.tar", "00000_stats.json"])
        // A retry replaces the shard.
        var again = try write(configuration(.webdataset))
        (again.startTime, again.endTime) = (stats.startTime, stats.endTime)
        #expect(again == stats)
        #expect(directory.holds("00000.tar", expected) && directory.holds("00000.jsonl.zst", compressed))
    }

    @Test("A folder replaces the folder of an earlier attempt whole")
    func folder() throws {
        _ = try write(configuration(.files))
        directory.write("00000/stale.jpg", [1])
        unsafe mkdir(directory.appending("00000.partial"), 0o755)
        directory.write("00000.partial/left.jpg", [1])
        _ = try write(configuration(.files, hasCaptions: false))
        #expect(
            TemporaryDirectory.names(directory.appending("00000")).sorted()
                == ["000000000.jpg", "000000000.json", "000000002.jpg", "000000002.json"])
        #expect(directory.holds("00000/000000002.jpg", Self.bodies[1]))
        #expect(directory.holds("00000/000000000.json", row(0).json(SidecarSchema())))
        #expect(
            TemporaryDirectory.names(directory.path).sorted() == ["00000", "00000.jsonl.zst", "00000_stats.json"])
    }

    @Test("Files by digest hold each body once")
    func hashed() throws {
        _ = try write(configuration(.hashedFiles))
        let hex = String(repeating: "a2", count: 32)
        #expect(directory.holds("a2/a2/\(hex).jpg", Self.bodies[1]))
        // Another shard with the same body keeps the file.
        _ = try write(configuration(.hashedFiles))
        #expect(TemporaryDirectory.names(directory.appending("a2/a2")) == ["\(hex).jpg"])
    }

    @Test("An abandoned shard leaves nothing", arguments: [ShardWriter.Form.webdataset, .files])
    func abandoned(_ form: ShardWriter.Form) throws {
        directory.write("0", [1, 2, 3])
        do {
            let writer = try ShardWriter(0, configuration(form))
            try writer.add(row(0), .image(image("0")))
        }
        #expect(TemporaryDirectory.names(directory.path) == ["0"])
    }

    @Test("An image behind the end of its file is an error", arguments: [ShardWriter.Form.webdataset, .files], [0, 1])
    func changed(_ form: ShardWriter.Form, offset: Int64) throws {
        directory.write("0", [1, 2, 3])
        let writer = try ShardWriter(0, configuration(form))
        let file = try StoredFile(directory.appending("0"))
        let error = #expect(throws: BatchFailure.self) {
            try writer.add(row(0), .image(FileRange(file: file, offset: offset, size: 4 - offset + 1)))
        }
        #expect(error?.description == "Cannot read \(directory.path)/0: It is truncated.")
        directory.write("0", [1])
        let second = #expect(throws: BatchFailure.self) { try writer.add(row(0), .image(file.whole)) }
        #expect(second?.description == "Cannot read \(directory.path)/0: It changed since it was written.")
    }

    @Test("An error for lack of space says so")
    func full() {
        #expect(OutputError(.write, "a", ENOSPC).isFull && OutputError(.write, "a", EDQUOT).isFull)
        #expect(!OutputError(.write, "a", EIO).isFull)
        #expect(OutputError(.write, "a", ENOSPC).description == "Cannot write a: No space left on device.")
    }

    @Test("A folder in the place of a file, and a file in the place of the folder, are errors that name them")
    func inTheWay() throws {
        unsafe mkdir(directory.appending("00000.jsonl.zst.partial"), 0o755)
        let error = #expect(throws: BatchFailure.self) { try ShardWriter(0, configuration(.webdataset)) }
        #expect(error?.description == "Cannot create \(directory.path)/00000.jsonl.zst.partial: Is a directory.")
        directory.write("file", [])
        var other = try configuration(.files)
        other.folder = directory.appending("file")
        #expect(throws: BatchFailure.self) { try ShardWriter(0, other) }
    }
}
