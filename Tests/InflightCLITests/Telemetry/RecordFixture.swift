import Inflight
import InflightCore

@testable import InflightCLI

/// Synthetic run records that are identical each time they are made.
struct RecordFixture {
    private static let hosts = ["images.example.org", "cdn.example.net", "photos.example.com", "static.example.edu"]
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    private var record = RunRecord(command: "", startedAt: "2026-03-14T15:09:26.535Z", duration: 0)
    /// The time at which each slot of the network lane becomes free.
    private var places = [Int](repeating: 0, count: 16)
    private var arrivals: [(at: Int, bytes: Int64)] = []

    /// A run of `count` loads that covers everything a report shows, with texts of ordinary servers.
    static func record(loads count: Int, thumbnails: [[UInt8]] = []) -> RunRecord {
        var fixture = RecordFixture()
        fixture.record.command = "inflight get -i urls.txt -o thumbnails --size 320x240 --report report.html"
        for number in 1...count { fixture.addLoad(number, thumbnails) }
        return fixture.finished()
    }

    private mutating func random(_ range: ClosedRange<Int>) -> Int {
        // SplitMix64.
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return range.lowerBound + Int((value ^ value >> 31) % UInt64(range.count))
    }

    private mutating func addLoad(_ number: Int, _ thumbnails: [[UInt8]]) {
        let host = Self.hosts[random(0...3)]
        let asked = (number - 1) * 1800 + random(0...900)
        var load = RunRecord.Load(
            id: number, url: "https://\(host)/albums/\(2000 + number % 26)/holiday/IMG_\(10_000 + number).jpg",
            outcome: .ok, from: "network", start: asked, end: asked)
        load.status = 200
        let kind = random(1...100)
        if kind <= 8, let first = record.loads.last(where: { !$0.spans.isEmpty && $0.outcome == .ok }) {
            share(first, &load)
        } else if kind <= 14 {
            readFromDisk(&load)
        } else {
            fetch(&load, kind)
        }
        // Not every image has a thumbnail.
        if load.outcome == .ok, !thumbnails.isEmpty, number % 7 > 0 {
            load.thumbnail = thumbnails[number % thumbnails.count]
        }
        record.loads.append(load)
    }

    private mutating func fetch(_ load: inout RunRecord.Load, _ kind: Int) {
        let place = places.indices.min { places[$0] < places[$1] } ?? 0
        load.add(.queued, max(20, places[place] - load.end) + random(0...60))
        let job = newJob(.fetch, load.url, at: load.end)
        if kind % 5 == 0 {
            load.add(.nameLookup, random(400...9_000), job: job)
            load.add(.connect, random(900...22_000), job: job)
            load.add(.tls, random(1_500...30_000), job: job)
        }
        load.add(.firstByte, random(2_000...90_000), job: job)
        if kind <= 19 {
            load.marks.append(RunRecord.Mark(kind: .retried, at: load.end, why: "503, after 0.2 s"))
            load.add(.backoff, random(120_000...260_000), job: job)
            load.add(.firstByte, random(2_000...30_000), job: job)
        } else if kind <= 23 {
            load.marks.append(RunRecord.Mark(kind: .redirected, at: load.end, why: "to https://cdn.example.net/"))
            load.add(.firstByte, random(2_000...30_000), job: job)
        }
        if kind >= 96 { return fail(&load, kind, place) }
        let bytes = random(4_000...900_000)
        load.add(.download, 500 + bytes / random(8...60), job: job)
        finish(job, load.end)
        places[place] = load.end
        arrivals.append((load.end, Int64(bytes)))
        load.bytes = Int64(bytes)
        load.add(.store, random(200...3_000), job: newJob(.store, load.url, at: load.end))
        make(&load)
    }

    private mutating func fail(_ load: inout RunRecord.Load, _ kind: Int, _ place: Int) {
        places[place] = load.end
        if kind == 100 {
            load.outcome = .cancelled
            load.status = nil
            load.marks.append(RunRecord.Mark(kind: .cancelled, at: load.end, why: ""))
        } else {
            load.outcome = .failed
            load.status = kind == 96 ? 404 : kind == 97 ? 503 : nil
            load.error = RunRecord.Failure(
                code: load.status == nil ? "timedOut" : "badStatus", stage: "fetch",
                message: load.status.map { "The server answered \($0)." } ?? "Nothing came for 15 s. Try again later.")
            load.marks.append(RunRecord.Mark(kind: .failed, at: load.end, why: load.error?.code ?? ""))
        }
        load.from = nil
    }

    private mutating func readFromDisk(_ load: inout RunRecord.Load) {
        load.from = "disk"
        load.bytes = Int64(random(4_000...400_000))
        load.add(.queued, random(5...200))
        load.add(.disk, random(200...6_000))
        make(&load)
    }

    private mutating func make(_ load: inout RunRecord.Load) {
        load.add(.decode, random(1_000...14_000), job: newJob(.decode, load.url, at: load.end))
        load.add(.process, random(300...2_500), job: newJob(.process, load.url + " 320x240", at: load.end))
        load.add(.deliver, random(10...700))
        load.add(.encode, random(900...5_000))
        (load.format, load.width, load.height) = ("jpeg", 320, 240)
        load.file = "thumbnails/" + (load.url.split(separator: "/").last ?? "")
        for index in record.jobs.indices.suffix(3) where record.jobs[index].end == 0 { finish(index, load.end) }
    }

    private mutating func share(_ first: RunRecord.Load, _ load: inout RunRecord.Load) {
        load.from = "shared"
        load.url = first.url
        load.start = max(load.start, first.start)
        load.end = load.start
        load.marks = [RunRecord.Mark(kind: .joined, at: load.start, why: "")]
        for span in first.spans where span.end > load.start {
            let start = max(load.start, span.start)
            load.spans.append(RunRecord.Span(stage: span.stage, start: start, end: span.end, job: span.job))
            load.end = max(load.end, span.end)
            if let job = span.job { record.jobs[job].waiters += 1 }
        }
        (load.bytes, load.format, load.width, load.height) = (first.bytes, first.format, first.width, first.height)
        load.file = first.file
    }

    private mutating func newJob(_ kind: RunRecord.Job.Kind, _ subject: String, at: Int) -> Int {
        record.jobs.append(RunRecord.Job(kind: kind, subject: subject, start: at, end: 0, waiters: 1))
        return record.jobs.count - 1
    }

    private mutating func finish(_ job: Int, _ end: Int) { record.jobs[job].end = end }

    private mutating func finished() -> RunRecord {
        record.duration = (record.loads.map(\.end).max() ?? 0) + 1_200
        for index in record.jobs.indices where record.jobs[index].end == 0 { finish(index, record.jobs[index].start) }
        var total: Int64 = 0
        var bytes = Samples<Int64>()
        for arrival in arrivals.sorted(by: { $0.at < $1.at }) {
            total += arrival.bytes
            bytes.add(total, at: arrival.at)
        }
        record.bytes = bytes.values.map { RunRecord.BytesSample(at: $0.at, bytes: $0.value) }
        record.lanes = [
            lane("network", 16) {
                $0 == .queued
            } running: {
                [.nameLookup, .connect, .tls, .firstByte, .download].contains($0)
            },
            lane("decode", 2) { _ in
                false
            } running: {
                $0 == .decode || $0 == .process
            },
        ]
        record.histograms = [
            RunRecord.Histogram(name: "Time of a load", unit: "us", of: record.loads.map { $0.end - $0.start }),
            RunRecord.Histogram(
                name: "Bytes of a body", unit: "B", of: record.loads.compactMap { $0.bytes.map(Int.init) }),
            RunRecord.Histogram(
                name: "Time to the first byte", unit: "us",
                of: record.loads.flatMap { $0.spans.filter { $0.stage == .firstByte }.map { $0.end - $0.start } }),
        ]
        return record
    }

    private func lane(
        _ name: String, _ limit: Int, waiting: (RunRecord.Stage) -> Bool, running: (RunRecord.Stage) -> Bool
    ) -> RunRecord.Lane {
        var changes: [(at: Int, running: Int, waiting: Int)] = []
        for load in record.loads where load.from != "shared" {
            for span in load.spans {
                let change = (running(span.stage) ? 1 : 0, waiting(span.stage) ? 1 : 0)
                if change == (0, 0) { continue }
                changes.append((span.start, change.0, change.1))
                changes.append((span.end, -change.0, -change.1))
            }
        }
        var samples = Samples<SIMD2<Int>>()
        var level = SIMD2(0, 0)
        for change in changes.sorted(by: { $0.at < $1.at }) {
            level &+= SIMD2(change.running, change.waiting)
            samples.add(level, at: change.at)
        }
        return RunRecord.Lane(
            name: name, limit: limit,
            samples: samples.values.map { RunRecord.Lane.Sample(at: $0.at, running: $0.value.x, waiting: $0.value.y) })
    }
}

extension RunRecord {
    /// A record with malicious text in every field that servers and lists control.
    static var hostile: RunRecord {
        let texts = [
            "</script><img src=x onerror=\"document.title='owned'\">", "<!--<script>", "]]>\"'`\\u003c/script>",
            "line\u{2028}and\u{2029}paragraph", "\u{202E}gnp.tnecin\u{202C}", "nul\0bell\u{7}escape\u{1B}[31m",
            "\u{FEFF}\u{200B}invisible\u{E0041}", "javascript:document.title='owned'", "&lt;b&gt;&amp;&#60;",
            String(repeating: "Ü<long>", count: 100_000 / 7), "{{constructor.constructor('x')()}}", "",
            "__proto__", "e\u{301}\u{301}\u{301} 👩‍👩‍👧‍👦 漢字",
        ]
        var record = RunRecord(command: texts.joined(separator: " "), startedAt: texts[0], duration: 100_000)
        for (index, text) in texts.enumerated() {
            let start = index * 5_000
            var load = Load(
                id: index + 1, url: "https://example.org/\(text)", outcome: .failed, start: start, end: start + 4_000)
            load.from = text
            load.format = text
            load.file = text
            load.error = Failure(code: text, stage: text, message: text)
            load.spans = [Span(stage: .download, start: start, end: start + 4_000, job: index)]
            load.marks = [Mark(kind: .retried, at: start + 2_000, why: text)]
            // One load has a real thumbnail; the others have text instead.
            load.thumbnail =
                index == 3 ? (try? TestImages.make(.webp, 40, 48).array) : Array(text.utf8)
            record.loads.append(load)
            record.jobs.append(Job(kind: .fetch, subject: text, start: start, end: start + 4_000, waiters: 2))
            record.lanes.append(Lane(name: text, limit: 1, samples: [.init(at: start, running: 1, waiting: 0)]))
        }
        record.histograms = [Histogram(name: texts[0], unit: texts[0], of: [1, 2, 3])]
        return record
    }

    /// The record as lines of JSON, with which its page is compared.
    var lines: [UInt8] {
        var head = JSONWriter()
        head.add("command", command)
        head.add("duration", duration)
        head.add("received", bytes.last?.bytes ?? 0)
        head.add("lanes", lanes) { $0.add("limit", $1.limit) }
        for kind in Job.Kind.allCases { head.add("jobs.\(kind.rawValue)", jobs.filter { $0.kind == kind }.count) }
        head.add("thumbnails", loads.filter { $0.thumbnail != nil }.count)
        head.add("pictures", loads.filter { $0.width != nil && $0.error == nil }.count)
        head.add("unlisted", unlisted.loads)
        head.add("histograms", histograms) { writer, histogram in
            for (name, value) in [
                ("count", histogram.count), ("p50", histogram.p50), ("p90", histogram.p90), ("p95", histogram.p95),
                ("p99", histogram.p99),
            ] {
                writer.add(name, value)
            }
            writer.add("buckets", histogram.buckets) {
                $0.add("upper", $1.upper)
                $0.add("count", $1.count)
            }
        }
        return head.line + loads.flatMap { line($0) }
    }

    private func line(_ load: Load) -> [UInt8] {
        var writer = JSONWriter()
        writer.add("id", load.id)
        writer.add("url", load.url)
        writer.add("outcome", load.outcome.rawValue)
        if let from = load.from { writer.add("from", from) }
        writer.add("start", load.start)
        writer.add("time", load.end - load.start)
        if let bytes = load.bytes { writer.add("bytes", bytes) }
        if let status = load.status { writer.add("status", status) }
        if let format = load.format { writer.add("format", format) }
        if let width = load.width { writer.add("width", width) }
        if let height = load.height { writer.add("height", height) }
        if load.thumbnail != nil { writer.add("thumbnail", true) }
        if let file = load.file { writer.add("file", file) }
        if let error = load.error {
            writer.add("error") {
                $0.add("code", error.code)
                $0.add("stage", error.stage)
                $0.add("message", error.message)
            }
        }
        writer.add("spans", load.spans) {
            $0.add("stage", $1.stage.rawValue)
            $0.add("start", $1.start - load.start)
            $0.add("time", $1.end - $1.start)
            $0.add("others", $1.job.map { jobs[$0].waiters - 1 } ?? 0)
        }
        writer.add("marks", load.marks) {
            $0.add("kind", $1.kind.rawValue)
            $0.add("at", $1.at)
            $0.add("why", $1.why)
        }
        return writer.line
    }
}

extension RunRecord.Load {
    fileprivate mutating func add(_ stage: RunRecord.Stage, _ length: Int, job: Int? = nil) {
        spans.append(RunRecord.Span(stage: stage, start: end, end: end + length, job: job))
        end += length
    }
}
