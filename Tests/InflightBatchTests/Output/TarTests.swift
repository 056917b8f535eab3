import Glibc
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Tar archives", .timeLimit(.minutes(5)))
struct TarTests {
    private static func archive(_ members: [(String, [UInt8])]) throws -> [UInt8] {
        var archive = TarArchive()
        var bytes: [UInt8] = []
        for (name, body) in members { bytes += try archive.member(name, body: body) }
        bytes += archive.end()
        #expect(archive.byteCount == Int64(bytes.count))
        return bytes
    }

    /// Runs a program on the archive in a temporary file, and returns its exit status, its output and its errors.
    private static func run(_ arguments: [String], on bytes: [UInt8]) throws -> (Int32, String, String) {
        let directory = TemporaryDirectory()
        directory.write("a.tar", bytes)
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, name) in [(Int32(1), "out"), (2, "err")] {
            unsafe posix_spawn_file_actions_addopen(
                &actions, descriptor, directory.appending(name), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
        let arguments = ["env", "TZ=UTC", "LC_ALL=C"] + arguments + [directory.appending("a.tar")]
        var words = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var process: pid_t = 0
        let failure = unsafe posix_spawnp(&process, "env", &actions, nil, &words, environ)
        try #require(failure == 0)
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) == -1, errno == EINTR {}
        let texts = ["out", "err"].map { String(decoding: directory.read($0) ?? [], as: UTF8.self) }
        return (status == 0 ? 0 : status & 0x7F == 0 ? status >> 8 & 0xFF : -1, texts[0], texts[1])
    }

    /// The names that fill the limits of the format: 100 bytes, 101 bytes with a separator, and 155 and 100 bytes.
    private static let longNames = [
        String(repeating: "n", count: 100), "p/" + String(repeating: "n", count: 99),
        String(repeating: "p", count: 155) + "/" + String(repeating: "n", count: 100),
        "a/b/" + String(repeating: "c", count: 90) + "/" + String(repeating: "d", count: 20) + "/e.jpg",
    ]

    private static let members: [(String, [UInt8])] =
        [("000000000.jpg", [UInt8](repeating: 7, count: 513)), ("000000000.json", Array("{}".utf8)), ("empty.txt", [])]
        + longNames.map { ($0, [UInt8](repeating: 1, count: 512)) }

    private static func has(_ program: String) -> Bool {
        (try? run([program, "--version"], on: []))?.0 == 0
    }

    @Test("tar lists an archive without warnings", .enabled(if: TarTests.has("tar")))
    func listedByTar() throws {
        let (status, output, errors) = try Self.run(["tar", "-tvf"], on: Self.archive(Self.members))
        #expect(status == 0)
        #expect(errors.isEmpty)
        let lines = output.split(separator: "\n")
        #expect(lines.count == Self.members.count)
        for (line, (name, body)) in zip(lines, Self.members) {
            let fields = line.split(separator: " ")
            #expect(fields == ["-rw-r--r--", "0/0", "\(body.count)", "1970-01-01", "00:00", Substring(name)])
        }
    }

    @Test("Python's tarfile reads the members and their bodies", .enabled(if: TarTests.has("python3")))
    func readByPython() throws {
        let program = """
            import sys, tarfile, zlib
            with tarfile.open(sys.argv[1], 'r:', errorlevel=2) as archive:
                assert not archive.pax_headers
                for m in archive:
                    assert m.type == tarfile.REGTYPE and m.uname == m.gname == '' and not m.pax_headers
                    body = archive.extractfile(m).read()
                    print(m.name, m.size, oct(m.mode), m.uid, m.gid, m.mtime, zlib.adler32(body), m.offset_data)
            """
        let (status, output, errors) = try Self.run(
            ["python3", "-W", "error", "-c", program], on: Self.archive(Self.members))
        #expect(status == 0)
        #expect(errors.isEmpty)
        var expected = ""
        var archive = TarArchive()
        for (name, body) in Self.members {
            _ = try archive.member(name, body: body)
            expected += "\(name) \(body.count) 0o644 0 0 0 \(adler(body)) \(archive.bodyOffset)\n"
        }
        #expect(output == expected)
    }

    private func adler(_ bytes: [UInt8]) -> UInt32 {
        var (a, b): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            a = (a + UInt32(byte)) % 65_521
            b = (b + a) % 65_521
        }
        return b << 16 | a
    }

    @Test("An archive ends with two zero blocks and fills a record")
    func end() throws {
        for size in [0, 1, 511, 512, 513, 8_192, 8_193, 8_704, 8_705, 9_216, 10_240] {
            let bytes = try Self.archive([("a", [UInt8](repeating: 0xFF, count: size))])
            #expect(bytes.count % 10_240 == 0)
            let used = 512 + (size + 511) / 512 * 512
            #expect(bytes.count == (used + 1_024 + 10_239) / 10_240 * 10_240)
            #expect(bytes[(512 + size)...].allSatisfy { $0 == 0 })
        }
        #expect(try Self.archive([]) == [UInt8](repeating: 0, count: 10_240))
    }

    @Test("A body may have 8 GiB − 1 bytes, and no more")
    func largestBody() throws {
        let header = try TarHeader(path: "a", size: 8 << 30 - 1).bytes
        #expect(Array(header[124..<136]) == Array("77777777777\0".utf8))
        var archive = TarArchive()
        for size in [8 << 30, Int64.max, -1] {
            #expect(throws: TarHeader.Failure.sizeOutOfRange) { try archive.beginMember("a", size: size) }
        }
        #expect(archive == TarArchive())
    }

    @Test(
        "A name that is not portable is refused",
        arguments: [
            "", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "-a", "a/-b", "a b", "é", "a\0b", "a\\b", "a:b",
        ])
    func notPortable(name: String) {
        #expect(throws: TarHeader.Failure.nameNotPortable) { try TarHeader(path: name, size: 0) }
    }

    @Test("A name that fits neither 100 bytes nor 155 and 100 bytes is refused")
    func tooLong() throws {
        let (n100, n101) = (String(repeating: "n", count: 100), String(repeating: "n", count: 101))
        let (p155, p156) = (String(repeating: "p", count: 155), String(repeating: "p", count: 156))
        for name in [
            n101, "p/" + n101, p156 + "/n", p156 + "/" + n100, n100 + "/" + n101, String(repeating: "a/", count: 999),
        ] {
            #expect(throws: TarHeader.Failure.nameTooLong) { try TarHeader(path: name, size: 0) }
        }
        for name in [n100, p155 + "/" + n100, p155 + "/n", n100 + "/" + n100] { _ = try TarHeader(path: name, size: 0) }
    }
}
