import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("Job graph: random events", .timeLimit(.minutes(10)))
struct JobGraphModelTests {
    /// The state of the graph as far as its actions reveal it.
    private struct Observer {
        var running: Set<String> = []
        var asleep: Set<String> = []
        var stopping: Set<String> = []
        var ended: Set<String> = []
        var cancelled: Set<String> = []
        var tasks: [String: String] = [:]

        /// The key of a job: its name without the apostrophes that mark later jobs.
        static func key(_ job: String) -> String { job.filter { $0 != "'" } }

        mutating func hear(_ lines: [String]) {
            for line in lines {
                let words = line.split(separator: " ").map(String.init)
                switch words[0] {
                case "start":
                    let twin = running.first { Self.key($0) == Self.key(words[1]) && !stopping.contains($0) }
                    #expect(twin == nil, "two live jobs for one key: \(words[1]) beside \(twin ?? "")")
                    running.insert(words[1])
                case "cancel":
                    #expect(running.contains(words[1]), "\(words[1]) was cancelled, but does not run")
                    stopping.insert(words[1])
                case "discard":
                    #expect(!running.contains(words[1]), "\(words[1]) was discarded while it runs")
                    asleep.remove(words[1])
                case "deliver":
                    #expect(ended.insert(words[1]).inserted, "\(words[1]) ended twice")
                    #expect(!cancelled.contains(words[1]), "\(words[1]) was told something after its cancel")
                    tasks[words[1]] = nil
                default: break
                }
            }
        }
    }

    @Test("Random events keep one job per key, one ending per task and the limits, and end idle")
    func random() {
        for seed in 1...300 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            let world = GraphWorld(fetches: 3, perOrigin: 2, decodes: 2)
            var observer = Observer()
            for step in 0..<150 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<4:
                    let url = ["u", "v", "w", "x"].randomElement(using: &random)!
                    let size = ["", "@1", "@2", "@1+b", "@1+b+c"].randomElement(using: &random)!
                    let origin = ["u", "v"].contains(url) ? GraphWorld.origin : GraphWorld.otherOrigin
                    let task = "t\(step)"
                    observer.tasks[task] = url + size
                    let first = Bool.random(using: &random) ? JobGraph.LaneName.store : .fetch
                    observer.hear(world.add(task, url + size, priority(&random), origin: origin, first: first))
                case 4..<6:
                    guard let task = observer.tasks.keys.sorted().randomElement(using: &random) else { continue }
                    observer.tasks[task] = nil
                    observer.cancelled.insert(task)
                    observer.hear(world.cancel(task))
                case 6:
                    guard let task = observer.tasks.keys.sorted().randomElement(using: &random) else { continue }
                    observer.hear(world.prioritize(task, priority(&random)))
                default:
                    let jobs = observer.running.union(observer.asleep)
                    guard let job = jobs.sorted().randomElement(using: &random) else { continue }
                    step == 149 ? () : end(job, world, &observer, &random)
                }
                let fetches = observer.running.filter { !$0.contains("@") }.count
                #expect(fetches <= 3 + 2, "those that are looked up among them")
                #expect(observer.running.count - fetches <= 2)
            }
            while let job = observer.running.min() ?? observer.asleep.min() {
                end(job, world, &observer, &random)
            }
            #expect(observer.tasks.isEmpty, "never told an ending: \(observer.tasks) (seed \(seed))")
            #expect(world.isIdle, "not idle in the end (seed \(seed))")
        }
    }

    private func priority(_ random: inout SeededGenerator) -> ImageRequest.Priority {
        ImageRequest.Priority.allCases.randomElement(using: &random)!
    }

    private func end(
        _ job: String, _ world: GraphWorld, _ observer: inout Observer, _ random: inout SeededGenerator
    ) {
        if observer.asleep.remove(job) != nil { return observer.hear(world.wake(job)) }
        let wasStopping = observer.stopping.remove(job) != nil
        observer.running.remove(job)
        switch Int.random(in: 0..<7, using: &random) {
        case 0: observer.hear(world.fail(job))
        case 1 where !job.contains("@"):
            observer.hear(world.move(job, to: GraphWorld.otherOrigin, ahead: Bool.random(using: &random)))
        case 2 where !job.contains("@"):
            if !wasStopping { observer.asleep.insert(job) }
            observer.hear(world.goToSleep(job))
        default:
            let lines = world.succeed(job)
            if wasStopping { #expect(lines.allSatisfy { $0.hasPrefix("start") }) }
            observer.hear(lines)
        }
    }
}
