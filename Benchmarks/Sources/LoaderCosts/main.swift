// What an `ImageLoader`'s and a `Prefetcher`'s load cost over the pipeline's own, and what 10,000 tasks weigh that are all
// under way at once: one thread moves transport, decoder and callback queue, so that nothing else is timed.
//
//     LoaderCosts [LOADS]

import BenchmarkSupport
import Glibc
import Inflight
import InflightTestSupport

let count = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 20_000

/// A format whose pictures are of one pixel: any bytes that begin as PNG does.
struct OnePixelCodec: ImageCodec {
    var decodableFormats: Set<ImageFormat> { [.png] }
    var encodableFormats: Set<ImageFormat> { [] }
    private static let pixels = PixelBuffer(
        width: 1, height: 1, bytesPerRow: 4, format: .rgbx, bytes: Bytes([0, 0, 0, 255]))

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        .info(ImageInfo(format: .png, storedWidth: 1, storedHeight: 1))
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {}

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        Self.pixels
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        throw LoadError(.cannotEncode, stage: .encode, message: "Nothing is written here.")
    }
}

/// Work that the one thread of this measurement runs: callbacks, and decodes.
// Unchecked: touched only by that thread.
final class Hand: CallbackExecutor, WorkExecutor, @unchecked Sendable {
    private var work: [@Sendable () -> Void] = []

    func submit(_ work: @escaping @Sendable () -> Void) { self.work.append(work) }
    func run(_ work: @escaping @Sendable () -> Void) { self.work.append(work) }
    var isCurrent: Bool { true }

    /// Runs what was submitted. Gives whether there was anything.
    func turn() -> Bool {
        let now = work
        work.removeAll(keepingCapacity: true)
        for item in now { item() }
        return !now.isEmpty
    }
}

let hand = Hand()
let transport = ScriptedTransport(.manual, records: false)
let picture = Bytes([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 7, count: 100))
transport.serveOthers { _ in .ok(picture) }

func makePipeline() throws -> ImagePipeline {
    var configuration = ImagePipeline.Configuration(
        transports: [.shared(transport)], codecs: CodecRegistry([OnePixelCodec()]))
    configuration.memoryCache = MemoryCacheConfiguration(limit: 0, reactsToMemoryPressure: false)
    configuration.decodeExecutor = hand
    return try ImagePipeline(configuration: configuration)
}

let queue = CallbackQueue.executor(hand)

/// Runs until nothing is left to do.
@MainActor
func finish() {
    var isBusy = true
    while isBusy { isBusy = transport.finishAll() > 0 || hand.turn() }
}

/// Microseconds of CPU time of one load.
@MainActor
func cost(_ load: @MainActor () -> Void) -> Double {
    let start = Usage.now()
    load()
    finish()
    return (Usage.now() - start).cpu / Double(count) * 1e6
}

let pipeline = try makePipeline()
let requests = (0..<count).map { ImageRequest("https://images.example.org/pictures/\($0).png") }
let loaders = (0..<count).map { _ in ImageLoader(pipeline: pipeline, callbackQueue: queue) }
func makePrefetcher() -> Prefetcher {
    Prefetcher(pipeline: pipeline, destination: .memory, turn: .queue(queue), limit: count)
}

/// A new one for each round: what one has loaded it does not load again.
var prefetcher = makePrefetcher()

@MainActor
func byPipeline() { for request in requests { pipeline.load(request, on: queue) { _, _ in } } }
@MainActor
func byLoader() {
    for (loader, request) in zip(loaders, requests) { loader.request = request }
}
@MainActor
func byPrefetcher() {
    prefetcher.start(requests)
    // Its endings come on a queue of its own.
    while prefetcher.statistics.loaded < count {
        finish()
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
        // Once to warm up.
        if round > 0 { costs[name, default: []].append(figure) }
        for loader in loaders where name == "loader" { loader.reset() }
        finish()
    }
}
for (name, figures) in costs { sample.add(name, figures.sorted()[figures.count / 2]) }

// Ten thousand under way: each with its exchange begun, and nobody finished.
let many = 10_000
var configuration = ImagePipeline.Configuration(
    transports: [.shared(transport)], codecs: CodecRegistry([OnePixelCodec()]))
configuration.memoryCache = MemoryCacheConfiguration(limit: 0, reactsToMemoryPressure: false)
configuration.maximumConcurrentFetches = many
configuration.maximumConcurrentFetchesPerOrigin = many
let busy = try ImagePipeline(configuration: configuration)
let before = ProcessSize.now()
for index in 0..<many {
    busy.load(ImageRequest("https://images.example.org/busy/\(index).png"), on: queue) { _, _ in }
}
let after = ProcessSize.now()
sample.add("underway", busy.statistics.tasksUnderWay)
sample.add("threads", after.threads)
sample.add("bytes", Double(after.residentBytes - before.residentBytes) / Double(many))
sample.printAndExit(failed: busy.statistics.jobsUnderWay < many)
