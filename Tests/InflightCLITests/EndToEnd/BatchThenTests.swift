import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// `inflight batch --then`: its options, messages and exit statuses. `InflightBatchTests` cover the runs themselves.
@Suite("Batches that hand their shards over", .timeLimit(.minutes(10)))
final class BatchThenTests: EndToEndSuite {
    private static let options = ["--format", "png", "--allow-private", "--ignore-robots", "--shard-size", "2"]

    override init() throws {
        try super.init()
        unsafe mkdir(place.appending("store"), 0o755)
        place.write("then.sh", "#!/bin/sh\necho handing over $1\ncp \"$1\" '\(place.appending("store"))/'\n")
        unsafe chmod(place.appending("then.sh"), 0o755)
        for index in 0..<4 { server.serve("/\(index).png", .ok(try TestImages.make(.png, 8 + index, 6))) }
        server.serve("/late.png", .status(503))
        let paths = ["/0.png", "/1.png", "/2.png", "/late.png", "/3.png"]
        place.write("in.txt", paths.map { server.url($0) + "\n" }.joined())
    }

    private func batch(_ arguments: String...) -> CommandResult {
        place.run(["batch"] + arguments + (arguments.contains("-o") ? Self.options + ["--retries", "0"] : []))
    }

    private func names(_ folder: String) -> [String] {
        TemporaryDirectory.names(place.appending(folder)).filter { $0.hasPrefix("0000") }.sorted()
    }

    @Test("Files are handed over and removed, and status, verify and retry say what is not in the folder")
    func run() throws {
        let first = batch("in.txt", "-o", "out", "--then", "./then.sh", "--json")
        #expect(first.status == 0, "\(first.errors)")
        // The output of the program is among the messages, not among the events.
        #expect(first.errors.contains("handing over \(place.path)/out/00002_stats.json"), "\(first.errors)")
        #expect(first.text.split(separator: "\n").allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
        #expect(first.text.contains(#"{"event":"handover","shard":2}"#), "\(first.text)")
        #expect(names("out").isEmpty && names("store").count == 9)

        let status = batch("status", "out")
        #expect(status.text.contains("3 handed over, 3 not in this folder"), "\(status.text)")
        let json = batch("status", "out", "--json")
        #expect(json.text.contains(#""finishedShards":3,"openRows":0,"handedOverShards":3,"absentShards":3,"#))
        let verified = batch("verify", "out")
        #expect(verified.status == 0 && verified.text.contains("3 shards were not checked: --then"), "\(verified.text)")

        let requests = server.requestCount
        #expect(batch("in.txt", "-o", "out", "--then", "./then.sh").status == 0 && server.requestCount == requests)
        let retry = batch("retry", "out")
        #expect(retry.status == 66, "\(retry.errors)")
        #expect(retry.errors.contains("Shard 00001 of the run in \(place.path)/out is not in this folder any more"))
        #expect(retry.errors.contains("(00001.tar, 00001.jsonl.zst and 00001_stats.json)"), "\(retry.errors)")

        server.serve("/late.png", .ok(try TestImages.make(.png, 20, 6)))
        let files = try (0..<3).map { try #require(place.read("store/" + names("store")[3 + $0])) }
        for (name, bytes) in zip(names("store")[3..<6], files) { place.write("out/" + name, bytes) }
        // The program is stored with the command, whose folder may be another one.
        #expect(batch("retry", "out").status == 0 && names("out").isEmpty)
        #expect(place.read("store/00001.tar") != files[1])
        #expect(batch("status", "out", "--json").text.contains(#""images":5,"#))
    }

    @Test("With --keep-local, the files stay")
    func kept() {
        let result = batch("in.txt", "-o", "out", "--then", place.appending("then.sh"), "--keep-local")
        #expect(result.status == 0 && names("out").count == 9 && names("store") == names("out"), "\(result.errors)")
        #expect(batch("verify", "out").status == 0)
        #expect(batch("status", "out").text.contains("3 handed over"))
    }

    @Test("The status of a program is known if the command inherits that SIGCHLD is ignored")
    func ignoredSignal() {
        let result = place.run(
            ["batch", "in.txt", "-o", "out", "--then", "./then.sh"] + Self.options,
            prefix: "exec env --ignore-signal=CHLD \"$@\"")
        #expect(result.status == 0 && names("out").isEmpty, "\(result.errors)")
    }

    @Test("A program that cannot be run ends the command before the run begins")
    func missing() {
        for name in ["no-such-program", "./in.txt", place.path, "./then.sh --fast"] {
            let result = batch("in.txt", "-o", "out", "--then", name)
            #expect(result.status == 66 && result.errors.contains("the program of --then: there is no such"))
            #expect(result.errors.contains("name a script"), "\(result.errors)")
        }
        #expect(server.requestCount == 0 && TemporaryDirectory.names(place.path).contains("out") == false)
    }

    @Test(
        "Options without a file for each shard are usage errors",
        arguments: [
            (["--layout", "files", "--then", "x"], "--layout webdataset"), (["--keep-local"], "requires --then"),
            (["--then", ""], "--then"),
        ])
    func usage(options: [String], text: String) {
        let error = #expect(throws: UsageError.self) {
            _ = try Command.parse(
                ["batch", "a.csv", "-o", "x", "--format", "png"] + options, standardOutputIsTerminal: false)
        }
        #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
    }
}
