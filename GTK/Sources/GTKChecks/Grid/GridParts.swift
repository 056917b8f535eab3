import CInflightGTK
import Inflight
import InflightGTK
import InflightTestSupport

@MainActor
func gridParts(_ harness: Harness, binds: Int) {
    harness.part("no cell shows another row's image in any frame") { harness in
        let run = try GridRun(harness)
        await run.throwAbout(untilBound: binds)
        await run.comeToRest()
        run.judge()
        await run.close()
    }
}

/// A grid of 10,000 rows that scrolls at random over a slow and failing server, and the results of its frames.
@safe @MainActor
private final class GridRun {
    private let harness: Harness
    private let server: RowServer
    private let pipeline: ImagePipeline
    private let grid: RowGrid
    private var random = SeededGenerator(seed: 11)

    /// The scroll position before the last jump.
    private var before = 0.0
    private var frames = 0
    private var seen = RowGrid.VisibleCells()
    private var wrongCount = 0
    private var rests = 0
    private var seenAtRest = RowGrid.VisibleCells()
    private var sizes: Set<[Int]> = []
    /// The memory of this process in bytes, which includes the server and all its threads.
    private var memory: [(resident: Int, allocated: Int)] = []
    private let began = ContinuousClock.now
    private static let cacheLimit = 20_000_000

    init(_ harness: Harness) throws {
        self.harness = harness
        let server = try RowServer(slowest: 800, isFailing: true)
        var configuration = ImagePipeline.Configuration()
        configuration.memoryCache.limit = Self.cacheLimit
        // With this many fetches, responses arrive while their rows are still there, and in any order.
        configuration.maximumConcurrentFetches = 256
        configuration.maximumConcurrentFetchesPerOrigin = 256
        pipeline = try ImagePipeline(configuration: configuration)
        self.server = server
        memory = [ProcessMemory.now()]
        grid = RowGrid(rows: 10_000, pipeline: pipeline) {
            ImageRequest(server.url("/row/\($0)"))
        } configure: { options in
            options.fade = .milliseconds(120)
        }
    }

    // MARK: The script

    func throwAbout(untilBound binds: Int) async {
        unsafe await harness.wait(for: "the first images", on: grid.window) {
            grid.look().map { $0.right > 0 } ?? false
        }
        // In a tall window, more of the rows that a grid binds are visible or near.
        grid.resize(width: 960, height: 960)
        var velocity = 0.0, pause = 0
        while grid.bindCount < binds {
            pause -= 1
            switch pause > 0 ? 600 : Int.random(in: 0..<600, using: &random) {
            case 0..<12: velocity = Double.random(in: -600...600, using: &random)
            case 12..<56: jump(to: Double.random(in: 0...grid.limit, using: &random))
            case 56..<66: jump(to: before)
            case 66..<72: velocity = -velocity
            case 72..<82: grid.position += Double.random(in: -300...300, using: &random)
            case 82..<96: (pause, velocity) = (Int.random(in: 5..<60, using: &random), 0)
            case 96..<104: resize()
            case 104..<108:
                velocity = 0
                await rest()
                grid.retryFailed()
            default: grid.position += velocity
            }
            velocity *= 0.97
            await frame()
            if grid.bindCount >= binds / 4 * memory.count { memory.append(ProcessMemory.now()) }
        }
        while memory.count < 5 { memory.append(ProcessMemory.now()) }
    }

    private func jump(to place: Double) {
        before = grid.position
        grid.position = place
    }

    private func resize() {
        let (width, height) = (Int.random(in: 400...1200, using: &random), Int.random(in: 800...1000, using: &random))
        sizes.insert([width, height])
        grid.resize(width: width, height: height)
    }

    private func frame() async {
        unsafe await Frames.next(of: grid.window)
        look()
    }

    @discardableResult
    private func look() -> RowGrid.VisibleCells? {
        guard let sight = grid.look() else { return nil }
        frames += 1
        seen.add(sight)
        wrongCount += sight.wrong.count
        if frames % 100 == 0 { _ = server.answerOrder() }
        return sight
    }

    /// Stays in place until every request has its response. Then almost no cell may be blank.
    private func rest() async {
        // The visibility check runs before the next frame, and requests the images that are visible then.
        for _ in 0..<3 { await frame() }
        unsafe await harness.wait(for: "the end of all loads", on: grid.window) {
            look()
            return pipeline.statistics.tasksInFlight == 0
        }
        // The last image is visible once its fade has begun, which takes a frame.
        for _ in 0..<3 { await frame() }
        guard let sight = grid.look() else { return harness.expect(false, "no cells are visible at rest") }
        rests += 1
        seenAtRest.add(sight)
        harness.expect(
            sight.blank * 20 < sight.visible, "at rest \(rests), \(sight.blank) of \(sight.visible) cells are blank")
    }

    /// Checks that no placeholder is left in the end, after failed loads were retried.
    func comeToRest() async {
        await rest()
        unsafe await harness.wait(for: "the image of every visible cell", on: grid.window) {
            guard let sight = look() else { return false }
            if sight.failed > 0 { grid.retryFailed() }
            return sight.isComplete
        }
    }

    // MARK: Results

    func judge() {
        let seconds = (began.duration(to: .now)) / .seconds(1)
        let order = server.answerOrder()
        harness.note(
            "\(grid.bindCount) binds in \(Int(seconds)) s (\(Int(Double(grid.bindCount) / seconds)) per second), \(frames) frames, \(sizes.count) window sizes: "
                + "\(seen.right) cells right, \(seen.blank) blank, \(seen.failed) failed, \(seen.other) of other contents, "
                + "\(wrongCount) wrong; \(server.requestCount) requests")
        harness.note(
            "\(rests) rests: \(seenAtRest.right) cells right, \(seenAtRest.blank) blank, \(seenAtRest.failed) failed")
        harness.note(
            "\(percent(grid.askedCount, of: grid.bindCount)) % of the binds sent a request, "
                + "\(percent(grid.hitCount, of: grid.bindCount)) % found their image in memory, the others were neither "
                + "visible nor near; "
                + "\(percent(order.overtaken, of: order.answered)) % of \(order.answered) responses arrived after that of a "
                + "later request")
        let quarters = memory.map { "\($0.resident / 1_000_000) MB, \($0.allocated / 1_000_000) in use" }
        harness.note("memory at each quarter, including the server: \(quarters.joined(separator: "; "))")
        let times = grid.bindTimes
        harness.note("time per bind: median \(times.p50 / 1000) µs, p99 \(times.p99 / 1000) µs")

        harness.expect(frames > 100 && seen.right > 1000, "only \(seen.right) right cells in \(frames) frames")
        harness.expect(wrongCount == 0, "\(wrongCount) wrong cells: \(seen.wrong.prefix(10))")
        harness.expect(
            (seenAtRest.blank + seenAtRest.failed) * 20 < seenAtRest.visible,
            "5 % or more of the cells are blank at rest")
        harness.expect(
            grid.askedCount >= grid.hitCount, "fewer than half of the binds that need an image sent a request")
        harness.expect(
            order.overtaken * 10 >= order.answered * 3, "more than 70 % of the responses arrived in request order")
        // Resident memory is judged for the gallery, whose process has no server threads.
        let grown = memory.map(\.allocated).max()! - memory[0].allocated
        harness.expect(
            ProcessMemory.isWatched || grown <= Self.cacheLimit + 100_000_000,
            "\(grown / 1_000_000) MB more are in use than at the start")
    }

    private func percent(_ part: Int, of whole: Int) -> Int { whole == 0 ? 0 : part * 100 / whole }

    func close() async {
        grid.close()
        await pipeline.shutdown(.cancel)
        await harness.settle()
        harness.expect(inflight_live_paintables() == 0, "\(inflight_live_paintables()) paintables are left")
        server.stop()
    }
}
