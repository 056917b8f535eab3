import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Input: the reject file", .timeLimit(.minutes(10)))
struct RejectFileTests {
    private let directory = TemporaryDirectory()
    private let reject = InputReject(number: 7, line: 9, reason: .notUTF8)

    private var path: String { directory.appending("rejects.jsonl") }
    private var content: String? { directory.read("rejects.jsonl").map { String(decoding: $0, as: UTF8.self) } }

    @Test("A line names the file, the line and the reason")
    func line() throws {
        let file = try RejectFile(path: path)
        try file.append(reject, of: "a \"b\"\n.csv")
        try file.append(.init(number: 8, line: 10, reason: .tooLong(limit: 5)), of: "standard input")
        try file.close()
        #expect(
            content == """
                {"file":"a \\"b\\"\\n.csv","line":9,"reason":"The row is not valid UTF-8."}
                {"file":"standard input","line":10,"reason":"The row is longer than the limit of 5 bytes."}

                """)
    }

    @Test("A long or hostile reason is cut and cleaned, and the line stays valid JSON")
    func longReason() {
        let name = "\u{1B}\u{202E}\"" + String(repeating: "ä", count: 100_000)
        let line = RejectFile.line(.init(number: 0, line: 1, reason: .duplicateMember(name)), of: "a")
        #expect(line.count < 1000 && line.last == 0x0A && !line.contains(0x1B))
        #expect(String(decoding: line, as: UTF8.self).contains("two members '??\\\"ää"))
        let scanned = try? JSONScanner.members(line[...])
        #expect(scanned?.map(\.name) == ["file", "line", "reason"])
    }

    @Test("Lines are appended to those of an earlier run")
    func append() throws {
        for _ in 0..<2 {
            let file = try RejectFile(path: path)
            try file.append(reject, of: "a")
            try file.close()
        }
        let line = String(decoding: RejectFile.line(reject, of: "a"), as: UTF8.self)
        #expect(content == line + line)
    }

    @Test("A line that an earlier run left incomplete is ended before the first new one")
    func incompleteLine() throws {
        directory.write("rejects.jsonl", "{\"file\":\"a\",")
        let file = try RejectFile(path: path)
        try file.append(reject, of: "a")
        try file.close()
        #expect(content == "{\"file\":\"a\",\n" + String(decoding: RejectFile.line(reject, of: "a"), as: UTF8.self))
    }

    @Test("Rejects are in the file after a flush, and earlier if there are many")
    func flush() throws {
        let file = try RejectFile(path: path)
        try file.append(reject, of: "a")
        #expect(content == "")
        try file.flush()
        let line = RejectFile.line(reject, of: "a")
        #expect(directory.read("rejects.jsonl") == line)
        for _ in 0..<5000 { try file.append(reject, of: "a") }
        let size = try #require(directory.read("rejects.jsonl")).count
        #expect(size > 3 * 64 << 10 && size < 5001 * line.count)
        try file.close()
        #expect(directory.read("rejects.jsonl")?.count == 5001 * line.count)
    }

    @Test("A file that cannot be opened is an error that names it")
    func cannotOpen() {
        directory.write("file", "")
        for path in [directory.path, directory.appending("none/rejects.jsonl"), directory.appending("file/rejects")] {
            let error = #expect(throws: BatchFailure.self) { _ = try RejectFile(path: path) }
            #expect(error?.description.hasPrefix("Cannot write the reject file \(path): ") == true)
        }
    }

    @Test("A full disk is an error when many rejects were appended, at a flush, and at the end")
    func full() throws {
        let file = try RejectFile(path: "/dev/full")
        try file.append(reject, of: "a")
        for _ in 0..<2 {
            let error = #expect(throws: BatchFailure.self) { try file.flush() }
            #expect(error?.description.contains("No space left on device. Free disk space") == true)
        }
        #expect(throws: BatchFailure.self) { try file.close() }
        let many = try RejectFile(path: "/dev/full")
        #expect(throws: BatchFailure.self) {
            for _ in 0..<5000 { try many.append(reject, of: "a") }
        }
    }
}
