import Glibc
import InflightSQLite
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Folders that the command of version 0.1.0 has written, as their SQL, at a port where no server is any more.
@Suite("Folders of version 0.1.0", .timeLimit(.minutes(5)))
final class FirstVersionTests: EndToEndSuite {
    private static let origin = "http://127.0.0.1:46805"
    private static let batchOptions = [
        "--input-format", "text", "--format", "png", "--allow-private", "--ignore-robots", "--shard-size", "3",
        "--retries", "0",
    ]

    private func write(_ pragmas: String, _ statements: String, to file: String) throws {
        let database = try Database(path: place.appending(file), mode: .making, waitingAtMost: 0)
        try database.run(pragmas)
        try database.run("BEGIN; \(statements); COMMIT")
        try database.run("PRAGMA journal_mode = WAL")
        database.copiesLogWhenClosed()
    }

    @Test("A run of 0.1.0 that was stopped is shown, resumed and retried, and fetches no recorded row again")
    func batch() throws {
        for folder in ["out", "out/staging"] { unsafe mkdir(place.appending(folder), 0o755) }
        try write(Self.journalPragmas, Self.journal, to: "out/journal.sqlite")
        place.write("out/staging/1", Self.bytes(Self.stagedImage))
        let before = place.run(["batch", "status", "out", "--json"])
        #expect(before.status == 0 && before.text.contains(#""rows":5,"images":2,"duplicates":1,"failures":2,"#))
        // Reading has changed nothing.
        #expect(Self.version(place.read("out/journal.sqlite")) == 1)

        server.serve("/new.png", .status(503))
        let rows = ["/0.png", "/1.png", "/0.png", "/3.png", "/4.png"].map { Self.origin + $0 }
        let input = (rows + [server.url("/new.png")]).map { $0 + "\n" }.joined()
        let resumed = place.run(["batch", "-", "-o", "out"] + Self.batchOptions, input: input)
        #expect(resumed.status == 0, "\(resumed.errors)")
        #expect(resumed.errors.contains("Resuming after 5 rows and 1 shard."))
        #expect(server.requestCount == 1)
        let tar = try #require(place.read("out/00001.tar"))
        // The image is the member's body, behind its header.
        #expect(Array(tar[512..<590]) == Self.bytes(Self.stagedImage))

        server.serve("/new.png", .ok(jpeg))
        let retried = place.run(["batch", "retry", "out"])
        #expect(retried.status == 0, "\(retried.errors)")
        let after = place.run(["batch", "status", "out", "--json"])
        #expect(after.text.contains(#""rows":6,"images":3,"duplicates":1,"failures":2,"#), "\(after.text)")
        #expect(server.requestCount == 2)
        // Version 0.1.0 says that the journal is of a newer version.
        #expect(Self.version(place.read("out/journal.sqlite")) == 2)
    }

    @Test("The disk cache of 0.1.0 serves its responses, and takes new ones")
    func cache() throws {
        unsafe mkdir(place.appending("cache"), 0o755)
        place.write("cache/CACHEDIR.TAG", Self.cacheTag)
        place.write("cache/lock", "")
        try write(Self.cachePragmas, Self.cacheIndex, to: "cache/index.sqlite")
        #expect(place.run(["cache", "verify", "--cache", "cache"]).status == 0)
        let found = place.run([
            "get", Self.origin + "/3.png", "-o", "found.png", "--cache", "cache", "--cache-policy", "prefer-cached",
        ])
        #expect(found.status == 0, "\(found.errors)")
        #expect(place.read("found.png") == Self.bytes(Self.cachedBody))
        server.serve("/new.jpg", .ok(jpeg, type: "image/jpeg").field("Cache-Control", "max-age=60"))
        for _ in 0..<2 {
            #expect(place.run(["get", server.url("/new.jpg"), "-o", "new.jpg", "--cache", "cache"]).status == 0)
        }
        #expect(server.requestCount == 1)
        #expect(place.run(["cache", "verify", "--cache", "cache"]).status == 0)
        let list = place.run(["cache", "list", "--cache", "cache"])
        #expect(list.text.contains(Self.origin + "/3.png") && list.text.contains(server.url("/new.jpg")))
    }

    /// The version in the header of an SQLite database (https://www.sqlite.org/fileformat2.html, section 1.3.14).
    private static func version(_ file: [UInt8]?) -> Int? {
        file.map { $0[60..<64].reduce(0) { $0 << 8 | Int($1) } }
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

// MARK: - What 0.1.0 has written

extension FirstVersionTests {
    private static let journalPragmas = """
        PRAGMA page_size = 4096; PRAGMA application_id = 1231971906; PRAGMA user_version = 1
        """

    /// Rows 0 to 2 are in a finished shard: an image, a failure and a duplicate. Of the next, an image is staged.
    private static let journal = """
        CREATE TABLE option (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        INSERT INTO option VALUES ('format', 'png'), ('layout', 'webdataset'), ('shard-size', '3');
        CREATE TABLE input (number INTEGER PRIMARY KEY, name TEXT NOT NULL, identity TEXT NOT NULL, row_count INTEGER);
        INSERT INTO input VALUES (0, 'standard input', '', NULL);
        CREATE TABLE block (input INTEGER, number INTEGER, digests BLOB NOT NULL, PRIMARY KEY (input, number));
        INSERT INTO block VALUES (0, 0, X'C3B52D0A08D1BAC7C3B52D0A960EEA5DFFD90510');
        CREATE TABLE class (code INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        INSERT INTO class VALUES (2, 'http_404');
        CREATE TABLE row (number INTEGER PRIMARY KEY, class INTEGER NOT NULL, message TEXT, host TEXT NOT NULL, \
        original INTEGER, width INTEGER, height INTEGER, original_width INTEGER, original_height INTEGER, exif TEXT, \
        sha256 BLOB, size INTEGER, offset INTEGER);
        INSERT INTO row VALUES (3, 0, NULL, '127.0.0.1', NULL, 9, 6, 9, 6, '{}',
            X'57247577DBDF6044AAFE87054295114E15D737E32297E1B548FF024697FC1F5E', 78, 0);
        INSERT INTO row VALUES (4, 2, 'Not found: the server responded with status 404. Check the URL.', '127.0.0.1',
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        CREATE TABLE shard (number INTEGER PRIMARY KEY, first INTEGER NOT NULL, count INTEGER NOT NULL, \
        classes BLOB NOT NULL, images BLOB NOT NULL);
        INSERT INTO shard VALUES (0, 0, 3, X'000201', X'010000000000000005000000');
        CREATE TABLE failure (shard INTEGER, host TEXT, class INTEGER, count INTEGER NOT NULL, \
        PRIMARY KEY (shard, host, class)) WITHOUT ROWID;
        INSERT INTO failure VALUES (0, '127.0.0.1', 2, 1);
        CREATE TABLE content (sha256 BLOB PRIMARY KEY, row INTEGER NOT NULL) WITHOUT ROWID
        """

    private static let stagedImage = """
        89504e470d0a1a0a0000000d49484452000000090000000608020000009ea523920000001549444154085b636438c1800b30a10b20017acb
        0100864800d44156f7380000000049454e44ae426082
        """

    private static let cacheTag = """
        Signature: 8a477f597d28d172789f06886806bc55
        # Disk cache of Inflight. It is safe to delete this directory.
        # inflight 1 28bbdab60fa2093d 531316ee5a614cc1

        """

    private static let cachePragmas = """
        PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = 1229866572;
        PRAGMA user_version = 1
        """

    private static let cacheIndex = """
        CREATE TABLE cache (
            id INTEGER PRIMARY KEY, identity INTEGER NOT NULL, next INTEGER NOT NULL, age INTEGER NOT NULL,
            entries INTEGER NOT NULL, partial INTEGER NOT NULL, files INTEGER NOT NULL,
            fileBytes INTEGER NOT NULL, bodyBytes INTEGER NOT NULL);
        INSERT INTO cache VALUES (1, 2935180057643190589, 819344862891311459, 0, 1, 0, 0, 0, 73);
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, rank INTEGER NOT NULL, uses INTEGER NOT NULL,
            stored INTEGER NOT NULL, room INTEGER NOT NULL, file INTEGER NOT NULL, length INTEGER NOT NULL,
            sum INTEGER NOT NULL, seal INTEGER NOT NULL, record BLOB NOT NULL);
        INSERT INTO entry VALUES (819344862891311458, -461228785135151939, 1, 1, 1795710394946, 0, 0, 73,
            -6646308417565807129, 960976625450831085, X'\(cacheRecord.filter { !$0.isWhitespace })');
        CREATE INDEX entryByHash ON entry (hash);
        CREATE INDEX entryByRank ON entry (rank);
        CREATE TABLE body (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
        INSERT INTO body VALUES (819344862891311458, X'\(cachedBody.filter { !$0.isWhitespace })');
        CREATE TABLE pending (file INTEGER PRIMARY KEY, owner INTEGER NOT NULL, room INTEGER NOT NULL)
        """

    private static let cacheRecord = """
        011C687474703A2F2F3132372E302E302E313A34363830352F332E706E678489F18AC368034745541C687474703A2F2F3132372E302E302E
        313A34363830352F332E706E6700C80103312E3106065365727665721A42617365485454502F302E3620507974686F6E2F332E31312E3704
        446174651D5468752C203236204E6F7620323032362031363A32363A333420474D540E436F6E74656E742D4C656E6774680237330C436F6E
        74656E742D5479706509696D6167652F706E670D43616368652D436F6E74726F6C0D6D61782D6167653D3836343030044554616709226669
        787475726522F888F18AC3688089F18AC36800494A
        """

    private static let cachedBody = """
        89504E470D0A1A0A0000000D49484452000000090000000608020000009EA523920000001049444154789C636038C180130D223900D92B2A
        31A7F28C760000000049454E44AE426082
        """
}
