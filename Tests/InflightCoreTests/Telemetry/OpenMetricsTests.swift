import Foundation
import InflightConcurrency
import InflightCore
import InflightTestSupport
import RegexBuilder
import Testing

@Suite("OpenMetrics text", .timeLimit(.minutes(10)))
struct OpenMetricsTests {
    private let book = RecordingObservers()

    /// A pipeline that has loaded some images with a manual clock, and its metrics.
    private func example() throws -> (ImagePipeline.Statistics, ImagePipeline.Metrics) {
        let observer = book.observer()
        let stage = try Stage {
            $0.maximumConcurrentFetches = 1
            $0.observer = ImagePipeline.Observation(observer, on: observer.queue.callbackQueue)
        }
        stage.transport.serve(Stage.url, .ok(Bytes(Array(repeating: 7, count: 3000))))
        stage.transport.serveOthers(.status(404))
        for _ in 0..<3 { stage.load() }
        stage.load("http://b.example/1")
        stage.load("http://b.example/2").cancel()
        stage.clock.advance(by: .milliseconds(40))
        stage.transport.finishAll()
        stage.clock.advance(by: .seconds(1))
        stage.queue.runAll()
        stage.load("http://b.example/3")
        var metrics = ImagePipeline.Metrics()
        for event in observer.events { metrics.record(event) }
        return (stage.pipeline.statistics, metrics)
    }

    /// `Scripts/Tests/test_openmetrics.py` reads the same file with the parser of Prometheus's Python client.
    @Test("The text of a pipeline is that of the file which Prometheus's client reads")
    func file() throws {
        let (statistics, metrics) = try example()
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let expected = try String(contentsOfFile: "/\(root)/Scripts/Tests/pipeline.openmetrics", encoding: .utf8)
        let text = statistics.openMetrics(with: metrics, labels: ["pipeline": #"a "b" \c"# + "\nd é", "host": ""])
        #expect(text == expected, "\(text)")
    }

    @Test("Every line obeys the grammar, and every family is described once, before its samples")
    func grammar() throws {
        let (statistics, metrics) = try example()
        let hostile = "\u{0}\r\n\"\\\n{}=, #\u{2028}é"
        let texts = [
            statistics.openMetrics(), statistics.openMetrics(with: metrics),
            statistics.openMetrics(with: metrics, labels: ["a": hostile, "_Z9": "\r\n"]),
            ImagePipeline.Statistics().openMetrics(with: ImagePipeline.Metrics()),
        ]
        for text in texts {
            var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            #expect(lines.suffix(2) == ["# EOF", ""])
            lines.removeLast(2)
            var families: [String: (type: Substring, described: Set<Substring>)] = [:]
            var current = ""
            for line in lines {
                if let found = line.wholeMatch(of: /# (TYPE|UNIT|HELP) (inflight_[a-z_]+) (.+)/) {
                    if found.1 == "TYPE" {
                        current = String(found.2)
                        #expect(families[current] == nil, "described twice: \(line)")
                        #expect(["counter", "gauge", "histogram"].contains(found.3), "\(line)")
                        families[current] = (found.3, [])
                    }
                    #expect(found.2 == current, "\(line)")
                    #expect(families[current]?.described.insert(found.1).inserted == true, "\(line)")
                    if found.1 == "UNIT" { #expect(found.2.hasSuffix("_\(found.3)"), "\(line)") }
                    continue
                }
                let label = #/[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"/#
                    .matchingSemantics(.unicodeScalar)
                let sample = Regex {
                    Capture(/inflight_[a-z_]+/)
                    Optionally {
                        "{"
                        label
                        ZeroOrMore {
                            ","
                            label
                        }
                        "}"
                    }
                    " "
                    Capture(/\d+(?:\.\d+)?(?:e[+-]?\d+)?/)
                }
                let found = try #require(line.wholeMatch(of: sample.matchingSemantics(.unicodeScalar)), "\(line)")
                let type = try #require(families[current]?.type, "\(line)")
                let suffixes = ["counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_count", "_sum"]]
                let suffix = String(found.1.dropFirst(current.count))
                #expect(found.1.hasPrefix(current), "\(line)")
                #expect(suffixes[String(type)]?.contains(suffix) == true, "\(line)")
            }
            #expect(families.values.allSatisfy { $0.described.isSuperset(of: ["TYPE", "HELP"]) })
        }
    }

    @Test("Counters and gauges of both, and every known source and lane, have a sample")
    func samples() throws {
        let (statistics, metrics) = try example()
        let lines = statistics.openMetrics(with: metrics, labels: ["a": "b"]).split(separator: "\n")
        for expected in [
            #"inflight_successes_total{a="b",source="shared"} 2"#, #"inflight_successes_total{a="b",source="disk"} 0"#,
            #"inflight_failures_total{a="b",code="badStatus"} 1"#, #"inflight_cancelled_loads_total{a="b"} 1"#,
            #"inflight_running_jobs{a="b",lane="fetch"} 1"#, #"inflight_waiting_jobs{a="b",lane="store"} 0"#,
            #"inflight_saved_by_sharing_bytes_total{a="b"} 6000"#, #"inflight_wire_bytes_total{a="b"} 3000"#,
            #"inflight_first_byte_time_seconds_bucket{a="b",le="0.025"} 1"#,
            #"inflight_first_byte_time_seconds_bucket{a="b",le="0.05"} 2"#,
            #"inflight_first_byte_time_seconds_bucket{a="b",le="+Inf"} 2"#,
            #"inflight_first_byte_time_seconds_sum{a="b"} 0.04"#,
        ] {
            #expect(lines.contains { $0 == expected }, "\(expected)")
        }
        #expect(!statistics.openMetrics().contains("inflight_wire_bytes"))
    }

    @Test("A label's name that the format does not allow traps")
    func invalidLabels() async {
        await #expect(processExitsWith: .failure) { _ = ImagePipeline.Statistics().openMetrics(labels: ["": ""]) }
        await #expect(processExitsWith: .failure) { _ = ImagePipeline.Statistics().openMetrics(labels: ["9a": ""]) }
        await #expect(processExitsWith: .failure) { _ = ImagePipeline.Statistics().openMetrics(labels: ["a-b": ""]) }
        await #expect(processExitsWith: .failure) { _ = ImagePipeline.Statistics().openMetrics(labels: ["le": ""]) }
    }
}
