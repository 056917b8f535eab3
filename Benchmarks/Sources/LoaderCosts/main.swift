// Measures the CPU time of a load by the pipeline, by `ImageLoader` and by `Prefetcher`, and the memory of 10,000 tasks
// in flight. One thread runs transport, decoder and callbacks, so that nothing else is timed.
//
//     LoaderCosts [LOADS]

import BenchmarkSupport
import Glibc
import Inflight
import OneThread

let count = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 20_000

let stage = Stage()

/// Returns the CPU time of one load in microseconds.
@MainActor
func cost(_ load: @MainActor () -> Void) -> Double {
    let start = Usage.now()
    load()
    stage.finish()
    return (Usage.now() - start).cpu / Double(count) * 1e6
}

let pipeline = try ImagePipeline(configuration: stage.configuration())
let requests = (0..<count).map { ImageRequest("https://images.example.org/pictures/\($0).png") }
let loaders = (0..<count).map { _ in ImageLoader(pipeline: pipeline, callbackQueue: stage.queue) }

@MainActor
func makePrefetcher() -> Prefetcher {
    Prefetcher(pipeline: pipeline, destination: .memory, turn: .queue(stage.queue), limit: count)
}

/// The round's prefetcher. Each round needs a new one, because a prefetcher does not load an image again.
var prefetcher = makePrefetcher()

@MainActor
func byPipeline() { for request in requests { pipeline.load(request, on: stage.queue) { _, _ in } } }
@MainActor
func byLoader() {
    for (loader, request) in zip(loaders, requests) { loader.request = request }
}
@MainActor
func byPrefetcher() {
    prefetcher.start(requests)
    // The prefetcher receives completions on its own queue.
    while prefetcher.statistics.loaded < count {
        stage.finish()
        usleep(100)
    }
}

var sample = Sample()
var costs: [String: [Double]] = [:]
let ways: [(String, @MainActor () -> Void)] = [
    ("pipeline", byPipeline), ("loader", byLoader), ("prefetcher", byPrefetcher),
]
for round in 0..<8 {
    for (name, load) in ways {
        prefetcher = makePrefetcher()
        let figure = cost(load)
        // The first round is a warm-up.
        if round > 0 { costs[name, default: []].append(figure) }
        for loader in loaders where name == "loader" { loader.reset() }
        stage.finish()
    }
}
for (name, figures) in costs { sample.add(name, figures.sorted()[figures.count / 2]) }

// 10,000 tasks in flight: each has started its exchange, and none has finished.
let many = 10_000
var configuration = stage.configuration()
configuration.maximumConcurrentFetches = many
configuration.maximumConcurrentFetchesPerOrigin = many
let busy = try ImagePipeline(configuration: configuration)
let before = ProcessSize.now()
for index in 0..<many {
    busy.load(ImageRequest("https://images.example.org/busy/\(index).png"), on: stage.queue) { _, _ in }
}
let after = ProcessSize.now()
sample.add("underway", busy.statistics.tasksInFlight)
sample.add("threads", after.threads)
sample.add("bytes", Double(after.residentBytes - before.residentBytes) / Double(many))
sample.printAndExit(failed: busy.statistics.jobsInFlight < many)
