import Testing

@testable import InflightCLI

@Suite("Trace files", .timeLimit(.minutes(10)))
struct RunTraceTests {
    private typealias Span = RunRecord.Span

    private func load(_ id: Int, _ url: String, _ start: Int, _ end: Int, _ spans: [RunRecord.Span]) -> RunRecord.Load {
        RunRecord.Load(id: id, url: url, outcome: .ok, start: start, end: end, spans: spans)
    }

    /// Two loads that share a fetch, one that does not, and overlapping work.
    private var record: RunRecord {
        var record = RunRecord(command: "inflight get", startedAt: "2023-11-14T22:13:20Z", duration: 1000)
        record.jobs = [
            RunRecord.Job(kind: .fetch, subject: "http://a.example/1", start: 10, end: 300, waiters: 2),
            RunRecord.Job(kind: .decode, subject: "http://a.example/1", start: 10, end: 380, waiters: 1),
            RunRecord.Job(kind: .fetch, subject: "http://a.example/2", start: 15, end: 250, waiters: 1),
        ]
        let fetch = [
            Span(stage: .queued, start: 10, end: 50, job: 0), Span(stage: .connect, start: 50, end: 80, job: 0),
            Span(stage: .firstByte, start: 80, end: 200, job: 0), Span(stage: .download, start: 200, end: 300, job: 0),
            Span(stage: .store, start: 290, end: 330, job: 0),
        ]
        record.loads = [
            load(1, "http://a.example/1", 10, 400, fetch + [Span(stage: .decode, start: 300, end: 380, job: 1)]),
            load(
                2, "http://a.example/1", 120, 310,
                [
                    Span(stage: .firstByte, start: 120, end: 200, job: 0),
                    Span(stage: .download, start: 200, end: 300, job: 0),
                ]),
            load(3, "http://a.example/2", 15, 260, [Span(stage: .download, start: 60, end: 250, job: 2)]),
        ]
        record.loads[1].marks = [RunRecord.Mark(kind: .joined, at: 120, why: "coalesced with line 1")]
        record.lanes = [
            RunRecord.Lane(name: "fetch", limit: 6, samples: [.init(at: 50, running: 1, waiting: 0)])
        ]
        record.bytes = [RunRecord.BytesSample(at: 200, bytes: 65_536)]
        return record
    }

    private func file(_ record: RunRecord) throws -> TraceFile {
        var bytes: [UInt8] = []
        try RunTrace(record).write { bytes += $0 }
        return try TraceFile(bytes)
    }

    @Test("A trace follows its format and has one slice per load")
    func format() throws {
        let trace = try file(record)
        #expect(trace.problems == [])
        #expect(trace.slices("load").map(\.name) == ["http://a.example/1", "http://a.example/2", "http://a.example/1"])
    }

    @Test("A shared job is one slice, with an arrow from each load that waited for it")
    func flows() throws {
        let trace = try file(record)
        let shared = try #require(trace.slices("fetch").first { $0.ts == 50 })
        #expect(trace.slices("fetch").filter { $0.name == "http://a.example/1" && $0.end == 300 }.count == 1)
        #expect(shared.args?["waiters"] == .number(2))
        let arrows = trace.traceEvents.filter { $0.ph == "f" && $0.track == shared.track && $0.end <= shared.end }
        #expect(arrows.compactMap(\.ts).sorted() == [50, 120])
    }

    @Test("Concurrent work in a lane takes separate rows, and no more than needed")
    func rows() throws {
        #expect(TraceRows.rows(of: [(0, 10), (5, 15), (10, 20), (12, 13), (15, 16)]) == [0, 1, 0, 2, 1])
        let fetches = try file(record).slices("fetch").filter { $0.end <= 300 }
        #expect(Set(fetches.map(\.track)).count == 2)
    }

    @Test(
        "A URL with markup or control characters stays text",
        arguments: [
            "http://a.example/\"},{\"ph\":\"X\"", "http://a.example/\u{1B}[31m\u{7F}\u{202E}", "</script><b>\\u0000\\",
            "\u{0}\n\r\t", "",
        ])
    func hostile(_ url: String) throws {
        var record = record
        record.loads[0].url = url
        record.jobs[0].subject = url
        record.loads[0].marks = [RunRecord.Mark(kind: .retried, at: 20, why: url)]
        record.command = url
        let trace = try file(record)
        #expect(trace.problems == [])
        #expect(trace.slices("load").contains { $0.name == url })
    }

    @Test("A run without events still becomes a valid trace")
    func empty() throws {
        #expect(try file(RunRecord(command: "", startedAt: "", duration: 0)).problems == [])
    }

    @Test(
        "The trace validator reports each kind of problem",
        arguments: [
            (#"{"ph":"X","name":"a","pid":1,"tid":11,"ts":1}"#, "no dur"),
            (#"{"ph":"X","name":"a","pid":1,"tid":12,"ts":1,"dur":1}"#, "has no name"),
            (#"{"ph":"s","name":"a","cat":"c","pid":1,"tid":11,"ts":90,"id":1}"#, "no slice to bind to"),
            (#"{"ph":"s","name":"a","cat":"c","pid":1,"tid":11,"ts":5,"id":1}"#, "is not one start"),
            (#"{"ph":"C","name":"a","pid":1,"tid":11,"ts":5,"args":{"x":"y"}}"#, "no numbers"),
            (#"{"ph":"Q","name":"a","pid":1,"tid":11,"ts":5}"#, "unknown phase"),
            (#"{"ph":"i","name":"a","pid":1,"tid":11,"ts":5}"#, "no scope"),
            (#"{"ph":"X","name":"b","pid":1,"tid":11,"ts":5,"dur":50}"#, "reaches out of"),
            (#"{"ph":"i","s":"t","name":"b","pid":1,"tid":11,"ts":-2}"#, "before the beginning"),
            (#"{"ph":"i","s":"t","name":"b","pid":2,"tid":11,"ts":5}"#, "is of several processes"),
            (#"{"ph":"i","s":"t","name":"b","pid":1,"tid":0,"ts":5}"#, "has a process's number"),
        ])
    func sees(_ event: String, _ problem: String) throws {
        let good =
            #"{"ph":"M","name":"thread_name","pid":1,"tid":11,"args":{"name":"x"}},"#
            + #"{"ph":"X","name":"a","pid":1,"tid":11,"ts":0,"dur":20}"#
        let trace = try TraceFile(Array("{\"traceEvents\":[\(good),\(event)]}".utf8))
        #expect(trace.problems.contains { $0.contains(problem) })
        #expect(try TraceFile(Array("{\"traceEvents\":[\(good)]}".utf8)).problems == [])
    }
}
