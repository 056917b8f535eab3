import Glibc
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Shards read back", .timeLimit(.minutes(5)))
struct ShardReaderTests {
    private static let forms: [ShardWriter.Form] = [.webdataset, .files, .hashedFiles]

    /// Returns the text of the error with which `body` ends, without the folder.
    private func error(_ run: FinishedRun, _ body: () throws -> Void) -> String? {
        let error = #expect(throws: BatchFailure.self) { try body() }
        let parts = error?.description.split(separator: run.folder.path + "/") ?? []
        return parts.joined()
    }

    @Test("The rows of a shard are those that were written", arguments: forms)
    func rows(form: ShardWriter.Form) throws {
        let run = try FinishedRun(form)
        for shard in 0..<2 { #expect(try run.readRows(shard) == FinishedRun.rows[shard].map(\.line)) }
        let reader = try run.reader()
        try reader.rows { _, _ in }
        #expect(reader.schema == FinishedRun.schema)
    }

    @Test("An image and its caption are those that were written", arguments: forms, [true, false])
    func samples(form: ShardWriter.Form, hasCaptions: Bool) throws {
        let run = try FinishedRun(form, hasCaptions: hasCaptions)
        for shard in 0..<2 {
            let reader = try run.reader(shard)
            for row in FinishedRun.rows[shard] {
                guard let body = row.body else { continue }
                #expect(try reader.image(row.line).bytes() == body)
                let caption = hasCaptions && form != .hashedFiles ? row.caption ?? "" : nil
                #expect(try reader.caption(row.line) == caption)
            }
        }
    }

    @Test("A reader of an archive still reads the shard that another run has replaced")
    func replaced() throws {
        let run = try FinishedRun(.webdataset)
        let reader = try run.reader()
        try run.write(0, FinishedRun.rows[1])
        var keys: [String] = []
        try reader.rows { _, row in keys.append(row.key) }
        #expect(keys.count == 4)
        let first = FinishedRun.rows[0][0]
        #expect(try reader.image(first.line).bytes() == first.body)
        // A new reader has only the new rows.
        #expect(
            error(run) { _ = try run.reader().caption(first.line) }
                == "Cannot read 00000.tar: It has no member named 000000000.txt.")
    }

    @Test("A sample is found by the block of its image; another block is an error")
    func block() throws {
        let run = try FinishedRun(.webdataset)
        let reader = try run.reader()
        let members = try #require(try reader.members()).members
        for row in FinishedRun.rows[0] {
            guard let body = row.body else { continue }
            let place = try #require(members.first { $0.name == "\(row.line.key).png" })
            let (line, image) = try reader.sample(atBlock: UInt32(place.offset / 512))
            #expect(try line == row.line && image.bytes() == body)
            for block in [0, place.offset / 512 - 1, place.offset / 512 + 1, 1 << 31] {
                #expect(throws: BatchFailure.self) { try reader.sample(atBlock: UInt32(block)) }
            }
        }
    }

    // MARK: Sidecar

    @Test("A sidecar that is truncated anywhere is an error")
    func truncatedSidecar() throws {
        let run = try FinishedRun(.webdataset)
        let bytes = try #require(run.folder.read("00000.jsonl.zst"))
        for count in 0..<bytes.count {
            run.folder.write("00000.jsonl.zst", Array(bytes[..<count]))
            let text = error(run) { _ = try run.readRows() }
            #expect(text == "Cannot read 00000.jsonl.zst: The zstd data is truncated." || count < 4)
        }
    }

    @Test("A changed byte of a sidecar is an error, or has no effect")
    func changedSidecar() throws {
        let run = try FinishedRun(.webdataset)
        let bytes = try #require(run.folder.read("00000.jsonl.zst"))
        let rows = FinishedRun.rows[0].map(\.line)
        var failures = 0
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 0x10
            run.folder.write("00000.jsonl.zst", changed)
            if let found = try? run.readRows() { #expect(found == rows) } else { failures += 1 }
        }
        #expect(failures > bytes.count - 8)
    }

    private static let faults: [@Sendable ([String]) -> [String]] = [
        { [$0[0], "\n"] + $0[1...] },
        { [$0[0].replacing("}\n", with: "} \n")] },
        { [$0[0].replacing("\"width\":5", with: "\"width\":05")] },
        { [$0[0].replacing("\"width\":5", with: "\"width\":\"5\"")] },
        { [$0[0].replacing("\"width\":5", with: "\"width\":99999999999999999999")] },
        { [$0[0].replacing("\"url\":", with: "\"uri\":")] },
        { [$0[0].replacing("\"success\"", with: "\"succeeded\"")] },
        { [$0[0].replacing("\"key\":\"000000000\"", with: "\"key\":\"../00000000\"")] },
        { [$0[0].replacing("\"key\":\"000000000\"", with: "\"key\":\"\"")] },
        { [$0[0].replacing("\"sha256\":\"0101", with: "\"sha256\":\"0101zz")] },
        { [$0[0].replacing("\"sha256\":\"0101", with: "\"sha256\":\"01")] },
        { [$0[0].replacing(",\"tags\":", with: ",\"id\":")] },
        { [$0[0], $0[1].replacing(",\"tags\":null", with: "")] },
        { [$0[0], $0[1].replacing("\"tags\"", with: "\"more\"")] },
        { [$0[0], $0[1].replacing(",\"id\"", with: ",\"more\":1,\"id\"")] },
        { $0 + [$0[0]] },
        { _ in ["[]\n"] },
        { _ in ["{}\n"] },
        { [$0[0], String($0[1].dropLast(5))] },
    ]

    @Test("A line that the run cannot have written is an error that names it", arguments: faults.indices)
    func changedLine(index: Int) throws {
        let run = try FinishedRun(.webdataset)
        let lines = Self.faults[index](FinishedRun.lines)
        #expect(lines != FinishedRun.lines)
        try run.writeSidecar(lines.joined())
        let number = index == 15 ? 5 : [0, 12, 13, 14, 18].contains(index) ? 2 : 1
        #expect(
            error(run) { _ = try run.readRows() }
                == "Cannot read 00000.jsonl.zst: Line \(number) is not as it was written.")
    }

    @Test("A sidecar without rows, of another compression or without any is an error")
    func foreignSidecar() throws {
        let run = try FinishedRun(.webdataset)
        try run.writeSidecar("")
        #expect(error(run) { _ = try run.readRows() } == "Cannot read 00000.jsonl.zst: It has no rows.")
        for bytes in [[], Array(FinishedRun.lines.joined().utf8), Compressed.gzip(FinishedRun.lines.joined())] {
            run.folder.write("00000.jsonl.zst", bytes)
            #expect(error(run) { _ = try run.readRows() } == "Cannot read 00000.jsonl.zst: It is not zstd data.")
        }
    }

    @Test("Text that is not UTF-8 is an error")
    func notUTF8() throws {
        let line = Array(FinishedRun.lines[0].dropLast().utf8)
        #expect(SidecarRow(line: line[...], schema: FinishedRun.schema) == FinishedRun.rows[0][0].line)
        let index = try #require(line.lastIndex(of: UInt8(ascii: "b")))
        var changed = line
        changed[index] = 0xFF
        #expect(SidecarRow(line: changed[...], schema: FinishedRun.schema) == nil)
    }

    @Test("A missing file, a folder, a link and a pipe in its place are errors that name it", arguments: forms)
    func missing(form: ShardWriter.Form) throws {
        let run = try FinishedRun(form)
        let row = FinishedRun.rows[0][0].line
        let digest = String(repeating: "01", count: 32)
        let image =
            switch form {
            case .webdataset: "00000.tar"
            case .files: "00000/000000000.png"
            case .hashedFiles: "01/01/\(digest).png"
            }
        for name in ["00000.jsonl.zst", image] {
            let path = run.folder.path + "/" + name
            let bytes = try #require(run.folder.read(name))
            func text() -> String? {
                error(run) { _ = try run.reader().image(row).bytes() }
            }
            unsafe unlink(path)
            #expect(text() == "Cannot read \(name): No such file or directory.")
            unsafe symlink("/etc/passwd", path)
            #expect(text() == "Cannot read \(name): Too many levels of symbolic links.")
            unsafe unlink(path)
            unsafe mkfifo(path, 0o600)
            #expect(text() == "Cannot read \(name): It is not a file.")
            unsafe unlink(path)
            unsafe mkdir(path, 0o700)
            #expect(text() == "Cannot read \(name): It is not a file.")
            unsafe rmdir(path)
            run.folder.write(name, bytes)
        }
    }

    // MARK: Archive

    private func memberError(_ run: FinishedRun, _ bytes: [UInt8]) -> String? {
        run.folder.write("00001.tar", bytes)
        return error(run) { _ = try run.reader(1).members() }
    }

    @Test("A changed byte of an archive outside of the bodies is an error")
    func changedArchive() throws {
        let run = try FinishedRun(.webdataset)
        let bytes = try #require(run.folder.read("00001.tar"))
        let members = try #require(try run.reader(1).members()).members
        #expect(members.map(\.name) == ["000010000.png", "000010000.json", "000010000.txt"])
        let bodies = Set(members.flatMap { Int($0.offset)..<Int($0.offset + $0.size) })
        for index in bytes.indices where !bodies.contains(index) && (index < 4096 || index % 61 == 0) {
            var changed = bytes
            changed[index] ^= 1
            _ = memberError(run, changed)
        }
    }

    @Test("An archive of another length is an error")
    func truncatedArchive() throws {
        let run = try FinishedRun(.webdataset)
        let bytes = try #require(run.folder.read("00001.tar"))
        for count in stride(from: 0, to: bytes.count, by: 256) {
            #expect(memberError(run, Array(bytes[..<count])) == "Cannot read 00001.tar: It is truncated.")
        }
        #expect(
            memberError(run, bytes + [UInt8](repeating: 0, count: 10_240))
                == "Cannot read 00001.tar: It has bytes after its end at byte 10240.")
    }

    @Test(
        "A header that the run cannot have written is an error, also with a right checksum",
        arguments: [
            ("0000600", 100), ("0001750", 108), ("0001750", 116), ("00000000001", 136), ("x", 156), ("L", 156),
            ("ustar  ", 257), ("01", 263), ("root", 265), ("0000001", 329), ("p", 345), ("../", 0), ("000 010", 0),
            ("-0000000001", 124), ("9", 124), ("77777777777", 124), ("00000000013 ", 124),
        ])
    func changedHeader(text: String, offset: Int) throws {
        let run = try FinishedRun(.webdataset)
        var archive = ArchiveEditor(try #require(run.folder.read("00001.tar")))
        #expect(archive.bytes == run.folder.read("00001.tar"))
        archive.set(text, at: offset, of: 0)
        let expected =
            text == "77777777777" ? "It is truncated." : "The header at byte 0 is not as it was written."
        #expect(memberError(run, archive.bytes) == "Cannot read 00001.tar: \(expected)")
    }

    @Test("Two members of one name are an error")
    func repeatedMember() throws {
        let run = try FinishedRun(.webdataset)
        var archive = ArchiveEditor(try #require(run.folder.read("00001.tar")))
        archive.members.append(archive.members[0])
        #expect(
            memberError(run, archive.bytes) == "Cannot read 00001.tar: It has two members named 000010000.png.")
    }

    @Test("An image of a failed row and a caption that is not text are errors")
    func wrongRow() throws {
        let run = try FinishedRun(.webdataset)
        #expect(
            error(run) { _ = try run.reader().image(FinishedRun.rows[0][1].line) }
                == "Cannot read 00000.jsonl.zst: The row 000000001 has no image.")
        var archive = ArchiveEditor(try #require(run.folder.read("00000.tar")))
        archive.members[2].body = [0xC3, 0x28]
        run.folder.write("00000.tar", archive.bytes)
        #expect(
            error(run) { _ = try run.reader().caption(FinishedRun.rows[0][0].line) }
                == "Cannot read 00000.tar: The caption of 000000000 is not as it was written.")
    }
}
