// Measures the CPU time of a load without an observer of the pipeline, with one that does nothing, and with one that
// maintains `ImagePipeline.Metrics`. One thread does everything, the observer included. The images are loaded from
// memory, or completely, by a transport without a network and a one-pixel decoder.
//
//     ListenerCosts [LOADS]

import BenchmarkSupport
import Inflight
import OneThread

let count = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 20_000
/// The number of loads to start before the thread runs transport, decoder and callbacks. Their events fit into the
/// observer's buffer.
let atOnce = 500

/// An observer that counts events, and maintains metrics if `counts` is set.
// Unchecked: touched only by that thread.
final class EventCounter: ImagePipeline.Observer, @unchecked Sendable {
    private(set) var heard = 0
    private(set) var missed = 0
    private var metrics: ImagePipeline.Metrics?

    init(counts: Bool) { metrics = counts ? ImagePipeline.Metrics() : nil }

    func didObserve(_ events: [ImagePipeline.Event], dropped: Int) {
        heard += events.count
        missed += dropped
        guard metrics != nil else { return }
        for event in events { metrics?.record(event) }
    }

    /// The number of successful loads in the metrics; nil without metrics.
    var counted: Int? { metrics.map { $0.successes.values.reduce(0, +) } }
}

let stage = Stage()

@MainActor
func makePipeline(_ observer: EventCounter?, memory: Int) throws -> ImagePipeline {
    var configuration = stage.configuration(memory: memory)
    configuration.observer = observer.map { ImagePipeline.Observation($0, on: stage.queue) }
    return try ImagePipeline(configuration: configuration)
}

/// Returns the CPU time of one load in microseconds.
@MainActor
func cost(_ requests: [ImageRequest], by pipeline: ImagePipeline) -> Double {
    let start = Usage.now()
    var begun = 0
    while begun < count {
        for _ in 0..<min(atOnce, count - begun) {
            pipeline.load(requests[begun % requests.count], on: stage.queue) { _, _ in }
            begun += 1
        }
        stage.finish()
    }
    return (Usage.now() - start).cpu / Double(count) * 1e6
}

let few = (0..<100).map { ImageRequest("https://images.example.org/pictures/\($0).png") }
let many = (0..<count).map { ImageRequest("https://images.example.org/pictures/\($0).png") }
let kinds = [("memory", few, 1 << 20), ("whole", many, 0)]
let listeners: [(String, EventCounter?)] = [
    ("none", nil), ("idle", EventCounter(counts: false)), ("meter", EventCounter(counts: true)),
]
var ways: [(name: String, requests: [ImageRequest], pipeline: ImagePipeline)] = []
for (kind, requests, memory) in kinds {
    for (name, observer) in listeners {
        ways.append(("\(kind)_\(name)", requests, try makePipeline(observer, memory: memory)))
    }
}

var costs: [String: [Double]] = [:]
for round in 0..<8 {
    // Alternate the order, so that no variant always follows the same one.
    for way in round % 2 == 0 ? ways : ways.reversed() {
        let figure = cost(way.requests, by: way.pipeline)
        // The first round is a warm-up, which also fills the memory cache.
        if round > 0 { costs[way.name, default: []].append(figure) }
    }
}

var sample = Sample()
for (name, figures) in costs { sample.add(name, figures.sorted()[figures.count / 2]) }
let loads = ways.filter { $0.name.hasSuffix("meter") }.map { $0.pipeline.statistics.successes.values.reduce(0, +) }
let missed = listeners.compactMap { $0.1?.missed }.reduce(0, +)
sample.add("events", listeners.compactMap { $0.1?.heard }.reduce(0, +))
sample.printAndExit(failed: missed > 0 || listeners.last?.1?.counted != loads.reduce(0, +))
