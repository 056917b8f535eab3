// What a load costs with nobody who listens to the pipeline, with a listener that does nothing, and with one that keeps a
// `PipelineMeter`: CPU time, one thread moving everything, the listener too. Loads of pictures that are in memory, and whole
// ones, over a transport without a network and a decoder of one pixel.
//
//     ListenerCosts [LOADS]

import BenchmarkSupport
import Inflight
import InflightTestSupport

let count = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 20_000
/// Loads that are begun before the thread turns to what else there is to do: their events fit into the buffer.
let atOnce = 500

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

/// Does nothing, or counts.
// Unchecked: touched only by that thread.
final class Ears: PipelineListener, @unchecked Sendable {
    private(set) var heard = 0
    private(set) var missed = 0
    private var meter: PipelineMeter?

    init(counts: Bool) { meter = counts ? PipelineMeter() : nil }

    func didHear(_ events: [PipelineEvent], leftOut: Int) {
        heard += events.count
        missed += leftOut
        guard meter != nil else { return }
        for event in events { meter?.hear(event) }
    }

    /// Loads that it has counted; `nil` where it does not count.
    var counted: Int? { meter.map { $0.successes.values.reduce(0, +) } }
}

let hand = Hand()
let transport = ScriptedTransport(.manual, records: false)
let picture = Bytes([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 7, count: 100))
transport.serveOthers { _ in .ok(picture) }
let queue = CallbackQueue.executor(hand)

func makePipeline(_ ears: Ears?, memory: Int) throws -> ImagePipeline {
    var configuration = ImagePipeline.Configuration(
        transports: [.shared(transport)], codecs: CodecRegistry([OnePixelCodec()]))
    configuration.memoryCache = MemoryCacheConfiguration(limit: memory, reactsToMemoryPressure: false)
    configuration.decodeExecutor = hand
    configuration.listening = ears.map { PipelineListening($0, on: queue) }
    return try ImagePipeline(configuration: configuration)
}

/// Runs until nothing is left to do.
@MainActor
func finish() {
    var isBusy = true
    while isBusy { isBusy = transport.finishAll() > 0 || hand.turn() }
}

/// Microseconds of CPU time of one load.
@MainActor
func cost(_ requests: [ImageRequest], by pipeline: ImagePipeline) -> Double {
    let start = Usage.now()
    var begun = 0
    while begun < count {
        for _ in 0..<min(atOnce, count - begun) {
            pipeline.load(requests[begun % requests.count], on: queue) { _, _ in }
            begun += 1
        }
        finish()
    }
    return (Usage.now() - start).cpu / Double(count) * 1e6
}

let few = (0..<100).map { ImageRequest("https://images.example.org/pictures/\($0).png") }
let many = (0..<count).map { ImageRequest("https://images.example.org/pictures/\($0).png") }
let kinds = [("memory", few, 1 << 20), ("whole", many, 0)]
let listeners: [(String, Ears?)] = [("none", nil), ("idle", Ears(counts: false)), ("meter", Ears(counts: true))]
var ways: [(name: String, requests: [ImageRequest], pipeline: ImagePipeline)] = []
for (kind, requests, memory) in kinds {
    for (name, ears) in listeners {
        ways.append(("\(kind)_\(name)", requests, try makePipeline(ears, memory: memory)))
    }
}

var costs: [String: [Double]] = [:]
for round in 0..<8 {
    // The order changes, so that nobody always follows the same.
    for way in round % 2 == 0 ? ways : ways.reversed() {
        let figure = cost(way.requests, by: way.pipeline)
        // Once to warm up, and to fill the memory.
        if round > 0 { costs[way.name, default: []].append(figure) }
    }
}

var sample = Sample()
for (name, figures) in costs { sample.add(name, figures.sorted()[figures.count / 2]) }
let loads = ways.filter { $0.name.hasSuffix("meter") }.map { $0.pipeline.statistics.successes.values.reduce(0, +) }
let missed = listeners.compactMap { $0.1?.missed }.reduce(0, +)
sample.add("events", listeners.compactMap { $0.1?.heard }.reduce(0, +))
sample.printAndExit(failed: missed > 0 || listeners.last?.1?.counted != loads.reduce(0, +))
