import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Output of `--trace` and `--verbose`.
@Suite(.timeLimit(.minutes(10)))
final class TraceTests: EndToEndSuite {
    private func trace() throws -> TraceFile { try TraceFile(try #require(place.read("t.json"))) }

    @Test("--trace writes a valid trace with the stages of the run")
    func stages() throws {
        let result = place.run(
            "get", server.url("/good.jpg"), server.url("/good.jpg"), server.url("/missing.jpg"), "-o", "out", "--size",
            "30x", "--cache", "cache", "--trace", "t.json")
        #expect(result.status == 1)
        let trace = try trace()
        #expect(trace.problems == [])
        #expect(trace.slices("load").count == 3)
        let stages = Set(trace.slices("stage").compactMap(\.name))
        #expect(stages.isSuperset(of: ["disk", "firstByte", "download", "decode", "encode", "store"]))
        #expect(trace.traceEvents.contains { $0.ph == "f" })
        #expect(trace.traceEvents.contains { $0.ph == "C" && $0.name == "fetch lane" })
        #expect(place.names.filter { $0.hasPrefix("t.json") } == ["t.json"])
    }

    @Test("--trace writes a valid trace of an interrupted run as well")
    func interrupted() throws {
        server.serve("/slow.jpg", .ok(Bytes("x")).held("slow"))
        let command = RunningCommand(
            ["get", server.url("/slow.jpg"), "--discard", "--trace", "t.json"], in: place)
        try server.blockUntilHeld("slow", count: 1)
        command.signal(SIGINT)
        #expect(command.wait().status == 130)
        server.release("slow")
        let trace = try trace()
        #expect(trace.problems == [])
        #expect(trace.slices("load").first?.args?["outcome"] == .text("cancelled"))
    }

    @Test("An unwritable trace file is reported before any request", arguments: ["none/t.json", "."])
    func unwritable(_ path: String) {
        let result = place.run("get", server.url("/good.jpg"), "-o", "out", "--trace", path)
        #expect(result.status == 1)
        #expect(result.errors.contains("Cannot write the trace \"\(path)\": "))
        #expect(result.errors.contains("--trace FILE"))
        #expect(server.requestCount == 0)
        #expect(place.names == [])
    }

    @Test("--verbose prints cache lookups, requests and stage times, once for coalesced lines")
    func verbose() throws {
        let url = server.url("/good.jpg")
        let first = place.run("get", url, url, "-o", "out", "--cache", "cache", "--verbose")
        #expect(first.status == 0)
        #expect(first.errors.contains("\(url): cache miss; sent GET; over a new connection; received 200\n"))
        let times = first.errors.split(separator: "\n").filter { $0.contains(": took ") }
        #expect(times.count == 1)
        #expect(
            times.first?.contains("first byte ") == true && times.first?.contains("write ") == true, "\(first.errors)")
        let second = place.run(
            "get", url, "-o", "out", "--cache", "cache", "--cache-policy", "prefer-cached", "--verbose")
        #expect(second.errors.contains("\(url): cache hit, "))
        #expect(!second.errors.contains("sent GET"))
    }
}
