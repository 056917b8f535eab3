import Glibc
import InflightConcurrency
import InflightCore
import InflightSQLite
import InflightTestSupport
import Testing

@testable import InflightCLI
@testable import InflightDisk

/// `inflight cache` on caches that `inflight get` or these tests have filled.
@Suite(.timeLimit(.minutes(10)))
final class CacheCommandTests: EndToEndSuite {
    private struct Line: Decodable {
        struct Damage: Decodable {
            var url: String?
            var reason: String
        }
        struct Failure: Decodable {
            var code: String
        }

        var exists: Bool?
        var entries, bodyBytes, bytes, entriesInFiles, leftovers, removed, bytesBefore: Int?
        var damage: [Damage]?
        var error: Failure?
        // Only in lines about an entry.
        var url, stored: String?
        var status: Int?
        var whole, inFile: Bool?
    }

    private static let large = Bytes.random(100_000, seed: 7)

    override init() throws {
        try super.init()
        let fields = [("/small", Bytes("small")), ("/large", Self.large)]
        for (path, body) in fields { server.serve(path, .ok(body).field("Cache-Control", "max-age=600")) }
    }

    /// Fills the cache with a small and a large body.
    private func fetch() {
        let result = place.run(
            "get", server.url("/small"), server.url("/large"), "-o", "out", "--any", "--cache", "cache")
        #expect(result.status == 0, "\(result.errors)")
    }

    /// Stores entries with these URLs, long ago or at the time of the given clock.
    private func keep(_ urls: [String], clock: any EngineClock = VirtualClock()) async {
        let store = DiskStore(.init(folder: place.appending("cache"), clock: clock))
        let kept = Guarded(0)
        for url in urls {
            store.keep(.example(url, body: Bytes("x")), body: Bytes("x"), under: StoreKey(url), replacing: []) { id in
                if id != nil { kept.withLock { $0 += 1 } }
            }
        }
        await store.shutdown()
        #expect(kept.withLock { $0 } == urls.count)
    }

    private func cache(_ arguments: String..., environment: [String: String] = [:]) -> CommandResult {
        place.run(["cache"] + arguments + ["--cache", "cache"], environment: environment)
    }

    private func lines(_ result: CommandResult) throws -> [Line] { try result.decoded() }

    /// The path of the large body's file.
    private var bodyFile: String {
        get throws {
            let folder = try #require(TemporaryDirectory.names(place.appending("cache/bodies")).first)
            let name = try #require(TemporaryDirectory.names(place.appending("cache/bodies/\(folder)")).first)
            return "cache/bodies/\(folder)/\(name)"
        }
    }

    @Test("cache stat prints statistics in aligned lines and in JSON")
    func statistics() throws {
        fetch()
        let line = try #require(try lines(cache("stat", "--json")).first)
        #expect(line.exists == true && line.entries == 2 && line.entriesInFiles == 1 && line.bodyBytes == 100_005)
        let result = cache("stat")
        #expect(result.status == 0 && result.errors.isEmpty)
        #expect(result.text.contains("100,005\n"))
        let rows = result.text.split(separator: "\n").dropFirst()
        #expect(rows.count == 9 && Set(rows.map(\.count)).count == 1 && rows.allSatisfy { $0.count <= 60 })
    }

    @Test("cache list prints full URLs to a pipe, and fits its lines into COLUMNS if it is set")
    func list() throws {
        fetch()
        let found = try lines(cache("list", "--json"))
        #expect(Set(found.map(\.url)) == [server.url("/small"), server.url("/large")])
        #expect(found.allSatisfy { $0.status == 200 && $0.whole == true && $0.inFile == ($0.bytes == 100_000) })
        #expect(found.allSatisfy { $0.stored?.count == 20 && $0.stored?.hasSuffix("Z") == true })
        #expect(cache("list").text.contains("  " + server.url("/large") + "\n"))
        let narrow = cache("list", environment: ["COLUMNS": "40"]).text.split(separator: "\n")
        #expect(narrow.count == 2 && narrow.allSatisfy { TerminalText.width($0) <= 40 })
    }

    @Test("cache list prints calendar dates, and all entries of more than one page")
    func dates() async throws {
        // The second before a leap day begins.
        await keep((0..<1001).map { "http://a/\($0)" }, clock: VirtualClock(date: 1_709_164_799))
        let found = try lines(cache("list", "--json"))
        #expect(found.count == 1001)
        #expect(found.first?.stored == "2024-02-28T23:59:59Z")
    }

    @Test("cache verify finds and names a flipped bit in a body file, each time")
    func verify() throws {
        fetch()
        let whole = cache("verify")
        #expect(whole.status == 0 && whole.text == "2 entries read, 100,005 bytes intact, none damaged.\n")
        var bytes = try #require(place.read(try bodyFile))
        bytes[77] ^= 1
        place.write(try bodyFile, bytes)
        for _ in 0..<2 {
            let words = cache("verify")
            #expect(words.status == 1)
            #expect(words.text.contains("damaged \(server.url("/large")): Its file"))
            #expect(words.text.contains("2 entries read, 5 bytes intact, 1 damaged."))
            let json = cache("verify", "--json")
            let line = try #require(try lines(json).first)
            #expect(json.status == 1 && line.entries == 2 && line.bodyBytes == 5)
            #expect(line.damage?.map(\.url) == [server.url("/large")])
        }
    }

    @Test("cache verify reports files that a killed run left, but not as damage")
    func leftovers() throws {
        fetch()
        let file = try bodyFile
        place.write(String(file.dropLast()) + (file.hasSuffix("0") ? "1" : "0"), "half a bod")
        let result = cache("verify")
        #expect(result.status == 0)
        #expect(result.text.contains("1 orphaned file"))
        #expect(try lines(cache("verify", "--json")).first?.leftovers == 1)
    }

    @Test("A damaged index is discarded and reported, by verify as damage and by stat as a warning")
    func damagedIndex() throws {
        for action in ["verify", "stat"] {
            fetch()
            place.write("cache/index.sqlite", Bytes.random(20_000, seed: 5).array)
            for log in ["-wal", "-shm"] { _ = unsafe unlink(place.appending("cache/index.sqlite\(log)")) }
            let result = cache(action)
            #expect(result.status == (action == "verify" ? 1 : 0), "\(result.text)")
            #expect(result.errors.contains("The cache index was damaged. It was discarded with all entries."))
            #expect(cache("verify").status == 0)
        }
    }

    @Test(
        "Eight processes that use a cache with a damaged index at once fetch what they need, and only one discards it",
        arguments: [0..<4096, 12_288..<1 << 20])
    func eightProcesses(damaged: Range<Int>) throws {
        fetch()
        func damage() throws {
            var bytes = try #require(place.read("cache/index.sqlite"))
            let range = damaged.clamped(to: 0..<bytes.count)
            bytes.replaceSubrange(range, with: [UInt8](repeating: 0x5A, count: range.count))
            place.write("cache/index.sqlite", bytes)
        }
        try damage()
        let urls = [server.url("/small"), server.url("/large")]
        let gets = (0..<8).map { number in
            RunningCommand(["get"] + urls + ["-o", "\(number)", "--any", "--cache", "cache"], in: place)
        }
        for (number, get) in gets.enumerated() {
            let result = get.wait()
            #expect(result.status == 0, "\(result.errors)")
            let files = TemporaryDirectory.names(place.appending("\(number)")).map { place.read("\(number)/\($0)") }
            #expect(files.contains(Bytes("small").array) && files.contains(Self.large.array))
        }
        let verified = cache("verify")
        #expect(verified.status == 0 && verified.text.contains("2 entries read"), "\(verified.text)")

        try damage()
        let verifications = (0..<8).map { _ in RunningCommand(["cache", "verify", "--cache", "cache"], in: place) }
        let results = verifications.map { $0.wait() }
        #expect(results.count { $0.errors.contains("It was discarded") } == 1, "\(results.map(\.errors))")
        #expect(results.count { $0.status == 0 } == 7)
    }

    @Test("Damaged index pages are reported by verify and ignored by stat; the next get discards the index")
    func verifyAfterStat() throws {
        fetch()
        let root = try #require(
            try Database(path: place.appending("cache/index.sqlite"), mode: .reading, waitingAtMost: 1000)
                .number("SELECT rootpage FROM sqlite_schema WHERE name = 'entryByHash'"))
        var bytes = try #require(place.read("cache/index.sqlite"))
        for position in Int(root - 1) * 4096..<Int(root) * 4096 { bytes[position] = 0 }
        place.write("cache/index.sqlite", bytes)
        for _ in 0..<2 {
            let statistics = cache("stat")
            #expect(statistics.status == 0 && statistics.errors.isEmpty, "\(statistics.errors)")
            let verified = cache("verify")
            #expect(verified.status == 1 && verified.text.contains("some of its pages are corrupt"), "\(verified.text)")
        }
        // The first lookup discards the index, and the bodies are fetched and stored again.
        let again = place.run(
            "get", server.url("/small"), server.url("/large"), "-o", "again", "--any", "--cache", "cache")
        #expect(again.status == 0, "\(again.errors)")
        #expect(server.requests.count == 4, "\(again.errors)")
        let verified = cache("verify")
        #expect(
            verified.status == 0 && verified.text == "2 entries read, 100,005 bytes intact, none damaged.\n",
            "\(verified.text)")
    }

    @Test("cache clear removes only the selected entries and prints how many")
    func clear() async throws {
        await keep(["http://a.org/1", "http://a.org/2", "https://a.org:8443/3", "http://b.org/4"])
        await keep(["http://b.org/new"], clock: SystemClock())
        let steps: [([String], removed: Int, left: Int)] = [
            (["--url", "http://a.org/"], 0, 5), (["--url", "HTTP://user:pass@A.org/1#top"], 1, 4),
            (["--host", "c.org"], 0, 4), (["--host=A.org"], 2, 2), (["--older-than", "7d"], 1, 1),
            (["--older-than", "1d"], 0, 1), ([], 1, 0), ([], 0, 0),
        ]
        for (options, removed, left) in steps {
            let result = place.run(["cache", "clear", "--json", "--cache", "cache"] + options)
            let line = try #require(try lines(result).first)
            #expect(result.status == 0 && line.removed == removed && line.entries == left, "\(options)")
        }
        await keep(["http://a.org/1"])
        #expect(cache("clear").text.contains("1 entry removed, 0 entries remaining"))
    }

    @Test("cache clear in a cache over the default limit evicts no other entries")
    func clearsLargeCaches() async throws {
        await keep((0..<6).map { "http://a/\($0)" })
        do {
            // As if the cache held a TiB of files.
            let index = try Database(
                path: place.appending("cache/index.sqlite"), mode: .writing, waitingAtMost: 1000)
            try index.run("UPDATE cache SET fileBytes = 1 << 40")
        }
        let line = try #require(try lines(cache("clear", "--url", "http://a/0", "--json")).first)
        #expect(line.removed == 1 && line.entries == 5)
    }

    @Test("A missing cache is not an error and is not created", arguments: ["stat", "list", "verify", "clear"])
    func absent(_ action: String) throws {
        let words = cache(action)
        #expect(words.status == 0 && words.text == "There is no cache in cache.\n" && words.errors.isEmpty)
        let json = cache(action, "--json")
        #expect(json.status == 0)
        if action == "list" {
            #expect(json.output.isEmpty)
        } else {
            let line = try #require(try lines(json).first)
            #expect(line.exists == false && line.entries == 0)
        }
        #expect(!place.names.contains("cache"))
        // An empty folder is not made a cache either.
        _ = unsafe mkdir(place.appending("cache"), 0o755)
        #expect(cache(action).status == 0)
        #expect(TemporaryDirectory.names(place.appending("cache")).isEmpty)
    }

    @Test("A folder that is not a cache is refused and left unchanged", arguments: ["stat", "list", "verify", "clear"])
    func foreign(_ action: String) throws {
        _ = unsafe mkdir(place.appending("cache"), 0o755)
        place.write("cache/letter.txt", "Dear Sir")
        let words = cache(action)
        #expect(words.status == 66 && words.output.isEmpty)
        #expect(words.errors.contains("contains other files"))
        #expect(try lines(cache(action, "--json")).first?.error?.code == "cannotWrite")
        #expect(TemporaryDirectory.names(place.appending("cache")) == ["letter.txt"])
    }

    @Test("A cache of a newer version, or a file in place of the folder, is refused")
    func newerOrFile() throws {
        fetch()
        var tag = try #require(FolderTag(place.read("cache/CACHEDIR.TAG") ?? []))
        tag.layout = 99
        place.write("cache/CACHEDIR.TAG", tag.text)
        let newer = cache("stat")
        #expect(newer.status == 66 && newer.errors.contains("layout 99"))
        place.write("file", "x")
        let file = place.run("cache", "verify", "--cache", "file")
        #expect(file.status == 66 && file.errors.contains("is a file, not a folder"))
    }

    @Test("Control characters in stored URLs never reach the terminal")
    func controlCharacters() async throws {
        await keep(["http://a/\u{1B}[2Jx\u{202E}\n"])
        for arguments in [["list"], ["list", "--json"], ["verify"]] {
            let text = place.run(["cache"] + arguments + ["--cache", "cache"]).text
            #expect(text.split(separator: "\n").count == 1)
            #expect(!text.unicodeScalars.contains { $0 != "\n" && TerminalText.isUnsafe($0) })
        }
        let words = place.run("cache", "stat", "--cache", "no\u{1B}[2J")
        #expect(words.text == "There is no cache in no\\u{1b}[2J.\n")
    }

    @Test("Without --cache, the cache command uses the cache folder of the user")
    func ofUser() throws {
        let result = place.run("cache", "stat", environment: ["HOME": place.path])
        #expect(result.text.contains("\(place.path)/.cache/inflight"))
        let homeless = place.run("cache", "stat")
        #expect(homeless.status == 64 && homeless.errors.contains("--cache DIR"))
    }
}
