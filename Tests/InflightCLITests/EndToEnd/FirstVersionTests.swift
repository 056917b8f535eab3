import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Folders that the command of version 0.1.0 has written, at an origin where no server is any more.
/// `Scripts/make-first-version.py` has made them.
@Suite("Folders of version 0.1.0", .timeLimit(.minutes(5)))
final class FirstVersionTests: EndToEndSuite {
    private static let origin = "http://127.0.0.1:46805"
    private static let batchOptions = [
        "--input-format", "text", "--format", "png", "--allow-private", "--ignore-robots", "--shard-size", "4",
        "--retries", "0", "--per-host", "3",
    ]

    override init() throws {
        try super.init()
        let tests = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        let archive = "/\(tests)/Fixtures/first-version.tar.gz.base64"
        let unpacked = place.run(["--version"], prefix: "base64 -d '\(archive)' | tar xz || exit 1")
        try #require(unpacked.status == 0, "\(unpacked.errors)")
    }

    @Test("A finished run of 0.1.0 is shown and verified, which changes nothing in it")
    func batch() {
        let journal = place.read("batch/journal.sqlite")
        let status = place.run(["batch", "status", "batch", "--json"])
        #expect(status.status == 0)
        let counts = #""rows":7,"images":4,"duplicates":1,"failures":2,"transientFailures":0,"finishedShards":2,"#
        #expect(status.text.contains(counts), "\(status.text)")
        let verified = place.run(["batch", "verify", "batch", "--json"])
        #expect(verified.status == 0 && verified.text.contains(#""problem_count":0"#), "\(verified.text)")
        #expect(place.read("batch/journal.sqlite") == journal)
        #expect(Self.version(journal) == 1)
    }

    @Test("A killed run of 0.1.0 is shown, resumed and retried, and fetches no recorded row again")
    func run() throws {
        let before = place.run(["batch", "status", "run", "--json"])
        #expect(before.text.contains(#""rows":10,"images":7,"duplicates":1,"failures":2,"#), "\(before.text)")
        let shards = ["run/00000.tar", "run/00001.tar", "run/00000.jsonl.zst", "run/00001.jsonl.zst"]
        let finished = shards.map { place.read($0) }
        let staged = try #require(place.read("run/staging/2"))

        server.serve("/new.png", .status(503))
        let rows = String(decoding: try #require(place.read("rows.txt")), as: UTF8.self)
        let input = rows + server.url("/new.png") + "\n"
        let resumed = place.run(["batch", "-", "-o", "run"] + Self.batchOptions, input: input)
        #expect(resumed.status == 0, "\(resumed.errors)")
        #expect(resumed.errors.contains("Resuming after 10 rows and 2 shards."))
        #expect(server.requestCount == 1)
        #expect(shards.map { place.read($0) } == finished)
        // The first staged image is the body of the first member, behind its header.
        let tar = try #require(place.read("run/00002.tar"))
        let size = try #require(Int(String(decoding: tar[124..<135], as: UTF8.self), radix: 8))
        #expect(Array(tar[512..<512 + size]) == Array(staged.prefix(size)))
        // All rows of a run have the same columns: those of 0.1.0, which have no classes.
        #expect(!String(decoding: tar, as: UTF8.self).contains("error_class"))
        // The three rows that were in flight have failed, and the new one.
        let after = place.run(["batch", "status", "run", "--json"])
        #expect(after.text.contains(#""rows":14,"images":7,"duplicates":1,"failures":6,"#), "\(after.text)")

        server.serve("/new.png", .ok(jpeg))
        let retried = place.run(["batch", "retry", "run", "--class", "http_503"])
        #expect(retried.status == 0, "\(retried.errors)")
        let last = place.run(["batch", "status", "run", "--json"])
        #expect(last.text.contains(#""rows":14,"images":8,"duplicates":1,"failures":5,"#), "\(last.text)")
        #expect(server.requestCount == 2)
        #expect(place.run(["batch", "verify", "run"]).status == 0)
        // Version 0.1.0 says that the journal is of a newer version.
        #expect(Self.version(place.read("run/journal.sqlite")) == 2)
    }

    @Test("The disk cache of 0.1.0, whose process was killed, serves its responses and takes new ones")
    func cache() {
        #expect(place.run(["cache", "verify", "--cache", "cache"]).status == 0)
        let options = ["--cache", "cache", "--cache-policy", "prefer-cached", "--json"]
        for (path, image) in [
            ("/0.png", #""width":8,"height":6,"bytes":218"#), ("/1.png", #""width":9,"height":6,"bytes":236"#),
            ("/large.png", #""width":16,"height":9,"bytes":77168"#), ("/moved", #""width":8,"height":6,"bytes":218"#),
            ("/vary.png", #""width":12,"height":9,"bytes":351"#),
        ] {
            let found = place.run(["get", Self.origin + path, "--discard"] + options)
            #expect(found.text.contains(image) && found.text.contains(#""from":"disk""#), "\(found.text)")
        }
        // A part of a body needs its server.
        let part = place.run(["get", Self.origin + "/part.png", "--discard"] + options)
        #expect(part.text.contains(#""code":"cannotConnect""#), "\(part.text)")

        server.serve("/new.jpg", .ok(jpeg, type: "image/jpeg").field("Cache-Control", "max-age=60"))
        for _ in 0..<2 {
            #expect(place.run(["get", server.url("/new.jpg"), "-o", "new.jpg", "--cache", "cache"]).status == 0)
        }
        #expect(server.requestCount == 1)
        #expect(place.run(["cache", "verify", "--cache", "cache"]).status == 0)
        let list = place.run(["cache", "list", "--cache", "cache"])
        #expect(list.text.contains(Self.origin + "/large.png") && list.text.contains(server.url("/new.jpg")))
    }

    @Test("The disk cache of 0.1.0 with a damaged index serves none of its responses and takes new ones")
    func damagedCache() throws {
        let index = try #require(place.read("cache/index.sqlite"))
        place.write("cache/index.sqlite", Bytes.random(index.count, seed: 1).array)
        for suffix in ["-wal", "-shm"] { TemporaryDirectory.remove(place.appending("cache/index.sqlite\(suffix)")) }
        server.serve("/new.jpg", .ok(jpeg, type: "image/jpeg").field("Cache-Control", "max-age=60"))
        for _ in 0..<2 {
            #expect(place.run(["get", server.url("/new.jpg"), "-o", "new.jpg", "--cache", "cache"]).status == 0)
        }
        #expect(server.requestCount == 1)
        let verified = place.run(["cache", "verify", "--cache", "cache"])
        #expect(verified.status == 0 && verified.text.hasPrefix("1 entry read, "), "\(verified.text)")
        // The file of /large.png.
        #expect(TemporaryDirectory.names(place.appending("cache/bodies")).isEmpty)
    }

    /// The version in the header of an SQLite database (https://www.sqlite.org/fileformat2.html, section 1.3.14).
    private static func version(_ file: [UInt8]?) -> Int? {
        file.map { $0[60..<64].reduce(0) { $0 << 8 | Int($1) } }
    }
}
