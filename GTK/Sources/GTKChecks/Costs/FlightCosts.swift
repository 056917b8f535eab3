import CInflightGTK
import Foundation
import Inflight
import InflightConcurrency
import InflightGTK
import InflightTestSupport
import ScrollTrials

/// Measures the cost of a frame, and how long visible cells wait. The results are printed, not judged. Runs only if
/// requested by name, in an optimised build.
@MainActor
func flightCosts(_ harness: Harness) {
    harness.part("costs of a frame while scrolling fast over 10,000 rows, with all cores decoding") { harness in
        let picture = try photograph(width: 640, height: 480)
        var configuration = ImagePipeline.Configuration()
        configuration.memoryCache.limit = 20_000_000
        let pipeline = try ImagePipeline(configuration: configuration)
        let grid = RowGrid(rows: 10_000, pipeline: pipeline) { row in
            ImageRequest(source: ImageRequest.Source("row \(row)") { .bytes(picture) })
        } configure: {
            $0.fade = .milliseconds(120)
        }
        MainLoop.countsWork = true
        var (elapsed, processor) = (ImagePipeline.Histogram(), ImagePipeline.Histogram())
        let busy = ProcessorTime.ofProcess
        let began = ContinuousClock.now
        await RandomScroll(grid: grid, seed: 3).fly(frames: 2000) {
            let work = MainLoop.takeWork()
            elapsed.record(Int64(work.elapsed / .nanoseconds(1)))
            processor.record(Int64(work.processor / .nanoseconds(1)))
        }
        MainLoop.countsWork = false
        let took = ContinuousClock.now - began
        let used = (ProcessorTime.ofProcess - busy) / took
        harness.note(
            "\(elapsed.count) frames in \(tenths(took / .seconds(1))) s, \(grid.bindCount) binds, "
                + "\(tenths(used)) cores busy")
        for (name, times) in [("by the clock", elapsed), ("of the processor", processor)] {
            let shown = [times.p50, times.p95, times.p99, times.maximum].map { tenths(Double($0) / 1000) }
            harness.note(
                "work of a frame \(name): median \(shown[0]) µs, p95 \(shown[1]) µs, p99 \(shown[2]) µs, most \(shown[3]) µs"
            )
        }
        grid.close()
        await pipeline.shutdown(.cancel)
    }

    harness.part("costs in waiting time, with and without priority for visible cells") { harness in
        let names = [true: "what is seen first", false: "all that is bound "]
        for (seed, isFirst) in [(1, true), (1, false), (2, true), (2, false), (3, true), (3, false)] as [(UInt64, Bool)]
        {
            var settings = ScrollSimulation.Settings()
            if !isFirst { settings.priorities = .alike }
            let simulation = ScrollSimulation(seed: seed, settings)
            simulation.run(frames: 6000)
            harness.note("simulated, \(names[isFirst]!)  \(simulation.waits.told); \(simulation.begun) loads")
            harness.note("real,      \(names[isFirst]!)  \(try await waiting(seenFirst: isFirst, seed: seed))")
        }
    }
}

/// Returns how long visible cells wait in a scroll over a server that responds after 0 to 800 ms, 24 fetches at once.
@MainActor
private func waiting(seenFirst: Bool, seed: UInt64) async throws -> String {
    let server = try RowServer(slowest: 800)
    var configuration = ImagePipeline.Configuration()
    configuration.memoryCache.limit = 20_000_000
    configuration.maximumConcurrentFetchesPerOrigin = 24
    let pipeline = try ImagePipeline(configuration: configuration)
    let grid = RowGrid(rows: 10_000, pipeline: pipeline) {
        ImageRequest(server.url("/row/\($0)"))
    } configure: { options in
        options.fade = .zero
        if !seenFirst {
            (options.visiblePriority, options.nearPriority, options.awayPriority) = (.normal, .normal, .normal)
        }
    }
    var waits = VisibleWaits()
    let began = ContinuousClock.now
    await RandomScroll(grid: grid, seed: seed, rests: true).fly(frames: 1500) {
        var rows: [Int: Bool] = [:]
        grid.visible { rows[$0] = $1 }
        waits.look(rows, at: Int((ContinuousClock.now - began) / .milliseconds(1)))
    }
    let text = "\(waits.told); \(server.requestCount) requests"
    grid.close()
    await pipeline.shutdown(.cancel)
    return text
}

/// A random scroll through a grid, driven by the frame clock and the same for the same seed.
@MainActor
private struct RandomScroll {
    let grid: RowGrid
    var random: SeededGenerator
    let rests: Bool

    init(grid: RowGrid, seed: UInt64, rests: Bool = false) {
        self.grid = grid
        self.rests = rests
        random = SeededGenerator(seed: seed)
    }

    /// Scrolls before each frame, and calls `look` at the beginning of each. It submits nothing to the main queue,
    /// whose work is measured.
    func fly(frames: Int, _ look: @escaping @MainActor () -> Void) async {
        let bridge = Bridge()
        var (random, velocity, rest, left) = (random, 0.0, 0, frames)
        unsafe onFrames(of: grid.window) { _ in
            look()
            if rest > 0 {
                rest -= 1
            } else if rests ? abs(velocity) < 2 : Int.random(in: 0..<30, using: &random) == 0 {
                // One move in eight begins with a jump.
                if Int.random(in: 0..<8, using: &random) == 0 {
                    grid.position = Double.random(in: 0...grid.limit, using: &random)
                }
                let fastest = rests ? 200.0 : 900
                velocity = Double.random(in: -fastest / 2...fastest, using: &random)
                rest = rests ? Int.random(in: 20..<80, using: &random) : 0
            } else {
                grid.position += velocity
                velocity *= 0.95
            }
            unsafe gtk_widget_queue_draw(grid.window)
            left -= 1
            if left == 0 { bridge.open() }
            return left > 0
        }
        await bridge.wait()
    }
}

extension CellMachine.Priorities {
    /// Priorities that are equal for visible and other cells.
    fileprivate static var alike: CellMachine.Priorities { .init(visible: .normal, near: .normal, away: .normal) }
}

private func tenths(_ value: Double) -> String { String((value * 10).rounded() / 10) }

/// The CPU time of this process so far.
private enum ProcessorTime {
    static var ofProcess: Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// Returns a JPEG with some detail to decode.
private func photograph(width: Int, height: Int) throws -> Bytes {
    var random = SeededGenerator(seed: 1)
    let bytes = (0..<width * height).flatMap { at in
        let (x, y) = (at % width, at / width)
        let noise = Int.random(in: 0..<24, using: &random)
        return [UInt8(x * 200 / width + noise), UInt8(y * 200 / height + noise), UInt8((x + y) % 200 + noise), 255]
            as [UInt8]
    }
    let pixels = PixelBuffer(width: width, height: height, bytesPerRow: width * 4, format: .rgbx, bytes: Bytes(bytes))
    return try ImagePipeline.Configuration().codecs.encode(pixels, options: EncodeOptions(format: .jpeg))
}
