import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Verification of the output", .timeLimit(.minutes(5)))
struct ShardVerifierTests {
    private static let forms: [ShardWriter.Form] = [.webdataset, .files, .hashedFiles]

    private func verify(_ run: FinishedRun) throws -> VerifyReport {
        try ShardVerifier.verify(folder: run.folder.path, codecs: CodecRegistry([HeaderCodec()]))
    }

    private func problems(_ run: FinishedRun) throws -> [String] {
        let report = try verify(run)
        #expect(report.problemCount == report.problems.count)
        return report.problems.map { "\($0.file): \($0.text)" }
    }

    @Test("An undamaged run has no problems", arguments: forms, [true, false])
    func intact(form: ShardWriter.Form, hasCaptions: Bool) throws {
        let run = try FinishedRun(form, hasCaptions: hasCaptions)
        var steps: [String] = []
        let report = try ShardVerifier.verify(
            folder: run.folder.path, codecs: CodecRegistry([HeaderCodec()]), progress: { steps.append("\($0)/\($1)") })
        #expect(report.problems.isEmpty && report.isComplete && steps == ["1/2", "2/2"])
        #expect(report.rows == 5 && report.images == 4 && report.imageBytes == 711 * 2 + 300_011 + 11)
        #expect(
            report.description
                == "2 of 2 finished shards checked: 5 rows, 4 images, 301444 bytes, no problems.")
        #expect(
            String(decoding: report.json, as: UTF8.self) == """
                {"finished_shards":2,"checked_shards":2,"absent_shards":0,"rows":5,"images":4,"image_bytes":301444,\
                "problem_count":0,"complete":true,"problems":[]}

                """)
    }

    @Test("A cancelled verification reports the shards before")
    func cancelled() throws {
        let run = try FinishedRun(.webdataset)
        var calls = 0
        let report = try ShardVerifier.verify(
            folder: run.folder.path, codecs: CodecRegistry([HeaderCodec()]),
            isCancelled: {
                calls += 1
                return calls > 4
            })
        #expect(report.checkedShards == 1 && report.finishedShards == 2 && report.rows == 4)
        #expect(report.problems.isEmpty)
    }

    @Test("The number of reported problems is limited")
    func limited() throws {
        var report = VerifyReport()
        for number in 0..<1000 { report.add("f", "\(number)") }
        #expect(report.problems.count == VerifyReport.problemLimit && report.problemCount == 1000)
        #expect(report.description.contains("f: 99\n… and 900 more problems\n"))
        #expect(report.description.contains("1000 problems. The run is not complete"))
        #expect(String(decoding: report.json, as: UTF8.self).contains(#"[{"file":"f","text":"0"},{"file""#))
    }

    // MARK: Archive

    private func edit(_ run: FinishedRun, _ body: (inout ArchiveEditor) throws -> Void) throws -> [String] {
        var archive = ArchiveEditor(try #require(run.folder.read("00000.tar")))
        try body(&archive)
        run.folder.write("00000.tar", archive.bytes)
        return try problems(run)
    }

    @Test("Members in another order are a problem")
    func swapped() throws {
        let run = try FinishedRun(.webdataset)
        #expect(
            try edit(run) { $0.members.swapAt(1, 2) }
                == ["00000.tar: It has 000000000.txt in the place of 000000000.json."])
    }

    @Test("Members that change places with their names are problems")
    func exchanged() throws {
        let run = try FinishedRun(.webdataset)
        let found = try edit(run) { archive in
            let (first, second) = (archive.members[1].body, archive.members[4].body)
            (archive.members[1].body, archive.members[4].body) = (second, first)
            for index in [1, 4] {
                let size = String(archive.members[index].body.count, radix: 8)
                archive.set(String(repeating: "0", count: 11 - size.count) + size, at: 124, of: index)
            }
        }
        #expect(
            found.filter { $0.hasPrefix("00000.tar") } == [
                "00000.tar: 000000000.json differs from the sidecar.",
                "00000.tar: 000000002.json differs from the sidecar.",
            ])
    }

    @Test("A missing and a surplus member are problems")
    func otherMembers() throws {
        let run = try FinishedRun(.webdataset)
        let intact = try #require(run.folder.read("00000.tar"))
        #expect(
            try edit(run) { $0.members.removeLast() }
                == [
                    "00000.tar: It has no member named 000000003.txt.",
                    "00000_stats.json: It differs from the rows of the shard.",
                    "00000.tar: It has no member in the place of 000000003.txt.",
                ].sorted { $0.hasSuffix(".txt.") && !$1.hasSuffix(".txt.") })
        run.folder.write("00000.tar", intact)
        #expect(
            try edit(run) { archive in
                archive.members.append(archive.members[0])
                archive.set("000000009", at: 0, of: archive.members.count - 1)
            } == ["00000.tar: It has 000000009.png in the place of its end."])
    }

    @Test("A torn archive is a problem, and the other shards are checked")
    func torn() throws {
        let run = try FinishedRun(.webdataset)
        try run.change("00000.tar") { $0.removeLast(512) }
        let report = try verify(run)
        #expect(report.problems == [.init(file: "00000.tar", text: "It is truncated.")])
        #expect(report.checkedShards == 2 && report.rows == 1)
    }

    // MARK: Images

    @Test(
        "An image that is truncated, another one, or no image is a problem",
        arguments: [ShardWriter.Form.files, .hashedFiles])
    func images(form: ShardWriter.Form) throws {
        let run = try FinishedRun(form)
        let hex = String(repeating: "02", count: 32)
        let name = form == .files ? "00000/000000002.png" : "02/02/\(hex).png"
        for (bytes, text) in [
            (HeaderCodec.image(2, 9, padding: 3).dropLast() + [1], "The image is truncated. (row 000000002)."),
            (HeaderCodec.image(9, 2, padding: 3), "The image has 9 × 2 pixels, not as in the sidecar (row 000000002)."),
            (Array("<html>".utf8), "This is an HTML page, not an image. Check the URL. (row 000000002)."),
            ([], "The body is empty. (row 000000002)."),
        ] {
            run.folder.write(name, bytes)
            #expect(
                try problems(run) == [
                    "\(name): \(text)", "00000_stats.json: It differs from the rows of the shard.",
                ])
        }
    }

    // MARK: Sidecar, statistics and journal

    @Test(
        "A missing or torn file of a shard is a problem",
        arguments: ["00000.jsonl.zst", "00000_stats.json", "00000.tar"])
    func missing(name: String) throws {
        let run = try FinishedRun(.webdataset)
        let bytes = try #require(run.folder.read(name))
        run.folder.write(name, Array(bytes.dropLast(3)))
        #expect(try problems(run).contains { $0.hasPrefix("\(name): ") })
        unsafe unlink(run.folder.path + "/" + name)
        #expect(try problems(run) == ["\(name): No such file or directory."])
    }

    @Test("A shard that another run has replaced differs from the journal", arguments: forms)
    func replaced(form: ShardWriter.Form) throws {
        let run = try FinishedRun(form)
        var rows = FinishedRun.rows[0]
        (rows[0].line.status, rows[0].body) = (.failedToResize, nil)
        rows[1] = FinishedRun.rows[1][0]
        rows.removeLast()
        try run.write(0, rows)
        let found = try problems(run)
        #expect(
            found.prefix(3) == [
                "00000.jsonl.zst: The row 000000000 failed. In the journal, it has an image.",
                "00000.jsonl.zst: The row 000010000 has an image. In the journal, it failed (dns).",
                "00000.jsonl.zst: It has 3 rows. In the journal, the shard has 4.",
            ])
        #expect(found.contains("00000_stats.json: It differs from the rows of the shard."))
    }

    @Test("Two rows of one key are a problem")
    func repeatedKey() throws {
        let run = try FinishedRun(.hashedFiles)
        var rows = FinishedRun.rows[0]
        rows[2].line.key = rows[0].line.key
        try run.write(0, rows)
        #expect(try problems(run) == ["00000.jsonl.zst: Two rows have the key 000000000."])
    }

    @Test("A class that is not that of the journal is a problem", arguments: [nil, "tls"])
    func otherClass(name: String?) throws {
        let run = try FinishedRun(.hashedFiles)
        var rows = FinishedRun.rows[0]
        rows[1].line.errorClass = name
        try run.write(0, rows)
        #expect(
            try problems(run)
                == ["00000.jsonl.zst: The row 000000001 has the class \(name ?? "null"). In the journal, it is dns."])
    }

    @Test("Columns that differ between shards are a problem")
    func otherColumns() throws {
        let run = try FinishedRun(.hashedFiles)
        var other = run.configuration
        other.schema = SidecarSchema(ownColumns: ["id"])
        let row = FinishedRun.rows[1][0]
        run.folder.directory.write("image", row.body ?? [])
        let writer = try ShardWriter(1, other)
        try writer.add(row.line, .image(StoredFile(run.folder.directory.appending("image")).whole))
        _ = try writer.finish(duration: .zero)
        #expect(try problems(run) == ["00001.jsonl.zst: Its columns differ from those of the first shard."])
    }

    @Test(
        "Statistics with other numbers are a problem",
        arguments: [
            ("\"successes\":3", "\"successes\":4"), ("\"dns\"", "\"tls\""), ("{\"count\"", "{ \"count\""),
            ("\"duration\":2.000000,", ""), ("}}\n", "}}\n\n"), ("}}", "}"),
        ])
    func stats(old: String, new: String) throws {
        let run = try FinishedRun(.webdataset)
        try run.change("00000_stats.json") { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            let changed = text.replacing(old, with: new)
            #expect(changed != text)
            bytes = Array(changed.utf8)
        }
        #expect(try problems(run) == ["00000_stats.json: It differs from the rows of the shard."])
    }

    @Test("Statistics without a start and an end are those of version 0.1.0")
    func firstStats() throws {
        func problems(without names: String...) throws -> [String] {
            let run = try FinishedRun(.webdataset)
            try run.change("00000_stats.json") { bytes in
                var text = String(decoding: bytes, as: UTF8.self)
                for name in names {
                    let start = try #require(text.firstRange(of: "\"\(name)\":")?.lowerBound)
                    text.removeSubrange(start...(try #require(text[start...].firstIndex(of: ","))))
                }
                bytes = Array(text.utf8)
            }
            return try self.problems(run)
        }
        #expect(try problems(without: "start_time", "end_time").isEmpty)
        #expect(try problems(without: "end_time") == ["00000_stats.json: It differs from the rows of the shard."])
    }

    // MARK: Names

    @Test("A file that nothing names is a problem", arguments: forms)
    func leftovers(form: ShardWriter.Form) throws {
        let run = try FinishedRun(form)
        run.folder.write("00001.tar.partial", [])
        run.folder.write("00002.jsonl.zst", [])
        run.folder.write("rejects.jsonl", [])
        var expected = ["00001.tar.partial", "00002.jsonl.zst"].map { "\($0): No row of the run names it." }
        switch form {
        case .webdataset: break
        case .files:
            run.folder.write("00001/x.json.partial", [])
            expected.insert("00001/x.json.partial: No row of the shard names it.", at: 0)
        case .hashedFiles:
            let hex = "0202" + String(repeating: "03", count: 30)
            run.folder.write("02/02/\(hex).png", [])
            run.folder.write("02/02/\(String(repeating: "02", count: 32)).jpg", [])
            expected.append("02/02/\(String(repeating: "02", count: 32)).jpg: No row of the run names it.")
            expected.append("02/02/\(hex).png: No row of the run names it.")
        }
        #expect(try problems(run) == expected)
        // A run that has not ended may have files of open shards.
        unsafe mkdir(run.folder.path + "/staging", 0o755)
        let report = try verify(run)
        #expect(!report.isComplete && report.problemCount == (form == .files ? 1 : 0))
    }

    @Test("A shard that is missing in the journal of a run that has ended is a problem")
    func missingShard() throws {
        let run = try FinishedRun(.webdataset)
        let journal = try run.folder.open(["layout": "webdataset", "format": "png", "captions": "yes"])
        try journal.record([failed(12)])
        try run.write(3, [FinishedRun.rows[0][1]])
        try journal.finish(3, rows: 12..<13)
        #expect(try problems(run) == ["00002: The journal does not have this shard."])
    }

    @Test(
        "A journal without the options of a run is an error",
        arguments: [
            ["layout": "tar", "format": "png"], ["layout": "files"], ["layout": "files", "format": "none"],
            ["layout": "files", "format": "png", "part": "3/2"], ["layout": "files", "format": "png", "part": "x"],
        ])
    func options(options: [String: String]) throws {
        let folder = RunFolder()
        _ = try folder.open(options)
        #expect(throws: BatchFailure.self) {
            try ShardVerifier.verify(folder: folder.path, codecs: CodecRegistry([HeaderCodec()]))
        }
    }

    @Test("The names of a part's shards carry the part")
    func part() throws {
        let folder = RunFolder()
        let layout = try #require(ShardLayout(shardSize: 4, part: .init(number: 1, of: 2)))
        let journal = try Journal(
            folder: folder.path, options: ["layout": "files", "format": "png", "part": "1/2"], layout: layout)
        try journal.record([failed(0)])
        try journal.finish(0, rows: 0..<1)
        let writer = try ShardWriter(
            0,
            .init(
                folder: folder.path, layout: layout, form: .files, schema: SidecarSchema(),
                imageExtension: .fixed("png")))
        var row = SidecarRow(url: "u", key: "k", status: .failedToDownload)
        row.errorClass = "dns"
        try writer.add(row, .failure(class: "dns"))
        _ = try writer.finish(duration: .zero)
        let report = try ShardVerifier.verify(folder: folder.path, codecs: CodecRegistry([HeaderCodec()]))
        #expect(report.problems.isEmpty && report.rows == 1 && report.images == 0)
    }
}
