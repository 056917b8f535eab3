import InflightGTK
import ScrollTrials

// Prints how many cells of a scrolled list stay blank, and how many requests are sent for each cell shown, by the order
// of queued loads: medians and ranges of 20 seeds, 60 s each.

/// Returns the median and the range of the values.
func told(_ values: [Double]) -> String {
    let sorted = values.sorted()
    func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
    return "\(tenths(sorted[sorted.count / 2])) (\(tenths(sorted[0])) … \(tenths(sorted[sorted.count - 1])))"
}

let motions: [(String, ScrollSimulation.Motion)] = [
    ("flings", .flings), ("46 cells/s", .steady(cellsPerSecond: 46)), ("157 cells/s", .steady(cellsPerSecond: 157)),
]
print(
    "motion | slots | pages prefetched | order | blank, % | requests per cell shown | median wait, ms "
        + "| longest in queue, s")
for (name, motion) in motions {
    for slots in [6, 24] {
        for pages in [0, 2] {
            for isNewestFirst in [false, true] {
                var blank: [Double] = [], requests: [Double] = [], waits: [Double] = [], longest: [Double] = []
                for seed in 1...20 as ClosedRange<UInt64> {
                    var settings = ScrollSimulation.Settings()
                    (settings.motion, settings.slots, settings.prefetchedPages) = (motion, slots, pages)
                    settings.isNewestFirst = isNewestFirst
                    let simulation = ScrollSimulation(seed: seed, settings)
                    simulation.run(frames: 3750)
                    let shown = simulation.waits.had + simulation.waits.got
                    blank.append(100 * Double(simulation.waits.left) / Double(simulation.waits.count))
                    requests.append(Double(simulation.begun) / Double(shown))
                    waits.append(Double(simulation.waits.percentile(0.5) ?? 99999))
                    longest.append(Double(simulation.longestQueued) / 1000)
                }
                print(
                    name, slots, pages, isNewestFirst ? "newest first" : "oldest first", told(blank),
                    told(requests), told(waits), told(longest), separator: " | ")
            }
        }
    }
}
