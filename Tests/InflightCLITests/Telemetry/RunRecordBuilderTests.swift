import Inflight
import InflightConcurrency
import InflightCore
import Testing

@testable import InflightCLI

@Suite("Run records", .timeLimit(.minutes(10)))
struct RunRecordBuilderTests {
    /// `time` is in microseconds.
    private func event(
        _ time: Int64, _ kind: ImagePipeline.Event.Kind, task: UInt32? = nil, job: UInt64? = nil
    ) -> ImagePipeline.Event {
        ImagePipeline.Event(time: MonotonicTime(nanoseconds: time * 1000), task: task, job: job, kind: kind)
    }

    private func load(_ line: Int, _ start: Int, _ end: Int) -> RunRecord.Load {
        RunRecord.Load(id: line, url: "http://a.example/1", outcome: .ok, start: start, end: end)
    }

    /// One load over the network, after a cache lookup and before a decode.
    private var events: [ImagePipeline.Event] {
        [
            event(10, .requested(url: "http://a.example/1"), task: 1),
            event(10, .created(.fetch, subject: "http://a.example/1", after: nil), job: 7),
            event(10, .created(.decode, subject: "http://a.example/1", after: 7), job: 8),
            event(10, .subscribed, task: 1, job: 8), event(10, .queued(.store), job: 7),
            event(12, .started(.store), job: 7), event(20, .lookedUp(.nothing), job: 7),
            event(20, .queued(.fetch), job: 7), event(30, .started(.fetch), job: 7),
            event(31, .sent(method: "GET", url: "http://a.example/1", resumesAt: 0), job: 7),
            event(40, .nameResolved, job: 7), event(45, .connected(reused: false), job: 7),
            event(60, .secured, job: 7), event(100, .firstByte, job: 7), event(101, .responded(status: 200), job: 7),
            event(140, .received(bytes: 500), job: 7), event(150, .exchangeEnded(wireBytes: 500), job: 7),
            event(150, .succeeded, job: 7), event(150, .queued(.decode), job: 8),
            event(152, .started(.decode), job: 8), event(190, .succeeded, job: 8),
            event(190, .finished(.success(.network)), task: 1), event(200, .delivered, task: 1),
        ]
    }

    private func made(
        kept: RetainedLoads<RunRecordBuilder.EndedLoad> = RetainedLoads(), _ body: (inout RunRecordBuilder) -> Void
    ) -> RunRecord {
        var book = RunRecordBuilder(start: .zero, kept: kept)
        body(&book)
        return book.record(
            command: "", startedAt: "", end: MonotonicTime(nanoseconds: 1_000_000), limits: [.fetch: 6])
    }

    private func shown(_ load: RunRecord.Load) -> [String] {
        load.spans.map { "\($0.stage.rawValue) \($0.start)-\($0.end)" }
    }

    @Test("A record lists all stages of a load, its jobs, bytes and lane samples")
    func stages() throws {
        let record = made { book in
            for event in events { book.observe(event) }
            book.claimed(1, by: 1)
            book.worked(
                1,
                [
                    ProcessingStep(
                        stage: .encode, start: MonotonicTime(nanoseconds: 210_000),
                        end: MonotonicTime(nanoseconds: 220_000))
                ], subject: "x")
            book.concluded(load(1, 5, 250))
        }
        let first = try #require(record.loads.first)
        #expect(
            shown(first) == [
                "queued 10-12", "disk 12-20", "queued 20-30", "nameLookup 31-40", "connect 40-45", "tls 45-60",
                "firstByte 60-100", "download 100-150", "queued 150-152", "decode 152-190", "deliver 190-200",
                "encode 210-220",
            ])
        #expect(record.jobs.map(\.kind) == [.fetch, .decode, .encode])
        #expect(record.jobs.map(\.waiters) == [1, 1, 1])
        #expect(record.bytes.map(\.bytes) == [500])
        let fetch = try #require(record.lanes.first { $0.name == "fetch" })
        #expect(fetch.limit == 6)
        #expect(fetch.samples.map(\.running) == [0, 1, 0])
        #expect(record.dropped == 0)
        #expect(record.histograms.contains { $0.name == "total" && $0.count == 1 })
    }

    @Test("A late subscriber has only the rest of a shared job, and both loads name that job")
    func shared() throws {
        let record = made { book in
            for event in events {
                book.observe(event)
                guard case .received = event.kind else { continue }
                book.observe(self.event(141, .requested(url: "http://a.example/1"), task: 2))
                book.observe(self.event(141, .subscribed, task: 2, job: 7))
                book.observe(self.event(141, .coalesced, task: 2, job: 7))
                book.claimed(1, by: 1)
                book.claimed(2, by: 2)
            }
            book.observe(event(160, .delivered, task: 2))
            book.concluded(load(2, 141, 160))
            book.concluded(load(1, 5, 250))
        }
        #expect(shown(record.loads[1]) == ["download 141-150"])
        #expect(record.loads[1].marks.map(\.kind) == [.joined])
        #expect(record.loads[1].spans[0].job == record.loads[0].spans[1].job)
        #expect(record.jobs[record.loads[1].spans[0].job ?? 0].waiters == 2)
    }

    @Test("A line that shares the load of another line is marked and has the stages it waited for")
    func sameURL() throws {
        let record = made { book in
            book.claimed(1, by: 1)
            book.claimed(1, by: 2)
            for event in events { book.observe(event) }
            book.concluded(load(1, 5, 250))
            book.concluded(load(2, 110, 250))
        }
        #expect(record.loads[1].marks.map(\.why) == ["coalesced with line 1"])
        #expect(shown(record.loads[1]).first == "download 110-150")
    }

    @Test("Histogram ranges divide each power of two into four, without gaps, and hold every value")
    func ranges() {
        var histogram = ImagePipeline.Histogram()
        for value in [1, 7, 8, 9, 100, 1000, 1001, 1_000_000] as [Int64] { histogram.record(value) }
        let ranges = RunRecord.Histogram.ranges(histogram.buckets)
        #expect(ranges.first?.upper == 1)
        #expect(ranges.prefix(10).map(\.upper) == [1, 2, 3, 4, 5, 6, 7, 9, 11, 13])
        #expect(ranges.map(\.count).reduce(0, +) == 8)
        #expect(ranges.filter { $0.count > 0 }.map(\.upper) == [1, 7, 9, 111, 1023, 1_048_575])
        #expect(RunRecord.Histogram.ranges([]).isEmpty)
    }

    @Test("Lost events leave no load open and are counted")
    func lost() {
        let record = made { book in
            for event in events.prefix(12) { book.observe(event) }
            book.claimed(1, by: 1)
            book.missed(11)
            book.concluded(load(1, 5, 250))
        }
        #expect(record.loads.map(\.id) == [1])
        #expect(record.dropped == 11)
    }

    @Test("Of many loads, only the first, the last and the slowest are kept")
    func bounded() {
        var kept = RetainedLoads<Int>(first: 3, last: 3, slowest: 2)
        var forgotten: [Int] = []
        for number in 0..<1000 {
            forgotten += kept.add(number, duration: number == 500 || number == 700 ? 9999 : number % 10)
            #expect(kept.all.count + forgotten.count == number + 1)
        }
        forgotten += kept.settle()
        #expect(Set(kept.all) == [0, 1, 2, 500, 700, 997, 998, 999])
        #expect(Set(forgotten).union(kept.all) == Set(0..<1000))
    }

    @Test("Loads that are not kept still count in the totals, and a shared job counts once")
    func unlisted() {
        let record = made(kept: RetainedLoads(first: 1, last: 1, slowest: 1)) { book in
            // Six lines, each with a load of two jobs; lines 4 and 5 share theirs.
            for line in 1...6 {
                if line != 5 { book.claimed(UInt32(line), by: line) }
                if line == 4 { book.claimed(4, by: 5) }
                for var event in events where line != 5 {
                    event.task = event.task.map { _ in UInt32(line) }
                    event.job = event.job.map { $0 + UInt64(line) * 10 }
                    if case .created(.decode, let subject, _) = event.kind {
                        event.kind = .created(.decode, subject: subject, after: 7 + UInt64(line) * 10)
                    }
                    if case .delivered = event.kind {
                        for own in line == 4 ? [4, 5] : [line] {
                            var load = load(own, 5, 200 + (line == 3 ? 50 : 0))
                            load.bytes = 500
                            book.concluded(load)
                        }
                    }
                    book.observe(event)
                }
            }
        }
        #expect(record.loads.map(\.id) == [1, 3, 6])
        #expect(record.unlisted.loads == 3)
        #expect(record.dropped == 0)
        let totals = RecordTotals(record)
        #expect(totals.loads == 6)
        #expect(totals.outcomes == [.ok: 6])
        #expect(totals.bytes == 3000)
        #expect(totals.jobs == [.fetch: 5, .decode: 5])
        #expect(totals.marks == [.joined: 1])
        #expect(record.histograms.first { $0.name == "bodies" }?.count == 6)
    }

    @Test("Every load that shows an image gets the thumbnail that was made of it")
    func thumbnails() {
        let record = made { book in
            for line in 1...3 {
                var load = load(line, 5, 200)
                load.pictureLine = line == 3 ? nil : 1
                book.concluded(load)
            }
            book.showed([1, 2, 3], of: 1)
        }
        #expect(record.loads.map(\.thumbnail) == [[1, 2, 3], [1, 2, 3], nil])
    }

    @Test("Body sizes are a histogram in bytes, after the histogram of times")
    func sizes() throws {
        let record = made { book in
            for line in 1...4 {
                var load = load(line, 5, 200)
                load.bytes = line == 4 ? nil : Int64(line * 1000)
                book.concluded(load)
            }
        }
        #expect(record.histograms.map(\.name) == ["total", "bodies"])
        let sizes = try #require(record.histograms.last)
        #expect(sizes.unit == "B")
        #expect(sizes.count == 3)
        #expect(sizes.p99 == 3000)
    }

    @Test("Samples are thinned out, include the last one and are in order of time")
    func samples() {
        var samples = Samples<Int>()
        for time in 0..<100_000 { samples.add(time, at: time) }
        samples.add(-1, at: 50)
        #expect(samples.values.count <= 2000 && samples.values.count >= 900)
        #expect(samples.values.last?.value == -1)
        #expect(zip(samples.values, samples.values.dropFirst()).allSatisfy { $0.at < $1.at })
    }
}
