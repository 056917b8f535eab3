import CInflightGTK
import Inflight
import InflightGTK
import InflightTestSupport

@MainActor
func gridParts(_ harness: Harness, binds: Int) {
    harness.part("no cell shows another row's picture, not for one frame") { harness in
        let server = try RowPictures.server(slowest: 800, failing: true)
        var configuration = ImagePipeline.Configuration()
        configuration.memoryCache.limit = 20_000_000
        // So many that answers come while their rows are still there, and in any order.
        configuration.maximumConcurrentFetches = 256
        configuration.maximumConcurrentFetchesPerOrigin = 256
        let pipeline = try ImagePipeline(configuration: configuration)
        let grid = RowGrid(rows: 10_000, pipeline: pipeline) {
            ImageRequest(server.url("/row/\($0)"))
        } configure: { options in
            options.fade = .milliseconds(120)
        }
        unsafe await harness.wait(for: "the first pictures", on: grid.window) {
            grid.look().map { $0.right > 0 } ?? false
        }
        var random = SeededGenerator(seed: 11)
        var seen = RowGrid.Sight()
        var frames = 0, velocity = 0.0, rest = 0
        var wrong: [(row: Int, seen: Int)] = []
        while grid.bindCount < binds {
            rest -= 1
            switch rest > 0 ? 60 : Int.random(in: 0..<60, using: &random) {
            case 4: (rest, velocity) = (Int.random(in: 5..<60, using: &random), 0)
            case 0: velocity = Double.random(in: -900...900, using: &random)
            case 1: grid.position = Double.random(in: 0...grid.limit, using: &random)
            case 2: velocity = -velocity
            case 3: grid.position += Double.random(in: -300...300, using: &random)
            default: grid.position += velocity
            }
            velocity *= 0.97
            unsafe await Frames.next(of: grid.window)
            guard let sight = grid.look() else { continue }
            frames += 1
            seen.right += sight.right
            seen.blank += sight.blank
            seen.other += sight.other
            wrong += sight.wrong
        }
        unsafe await harness.wait(for: "every visible cell has its picture", on: grid.window) {
            grid.look().map { $0.right > 0 && $0.blank + $0.other + $0.wrong.count == 0 } ?? false
        }
        harness.note(
            "\(grid.bindCount) binds, \(frames) frames: \(seen.right) cells right, \(seen.blank) blank, "
                + "\(seen.other) something else, \(wrong.count) wrong; \(server.requestCount) requests")
        let times = grid.bindTimes.sorted()
        let (median, late) = (times[times.count / 2], times[times.count * 99 / 100])
        harness.note("a bind took \(Int(median.rounded())) µs in the middle, \(Int(late.rounded())) µs at p99")
        harness.expect(frames > 100 && seen.right > 1000, "nothing was seen")
        harness.expect(wrong.isEmpty, "wrong cells: \(wrong.prefix(10))")
        grid.close()
        await pipeline.shutdown(.cancel)
        await harness.settle()
        harness.expect(inflight_live_paintables() == 0, "\(inflight_live_paintables()) paintables are left")
    }
}
