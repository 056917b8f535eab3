internal import Dispatch
internal import InflightConcurrency
internal import InflightPatterns

extension Experiment {
    /// A string written by two tasks, in ten setups of queues.
    static let string = Experiment(
        name: "string", title: "A string written by two tasks",
        lookAt: """
            Both tasks write their letters to a plain string and to a guarded one. If the queues let both write at once, \
            the plain one loses letters, or the process crashes.
            """,
        platform: """
            As on Apple's systems: a Swift string is not thread-safe. A match without exclusive access is luck. Each \
            set-up runs in its own process, because it may corrupt the memory.
            """
    ) { stage throws(LabError) in
        var rows: [[String]] = []
        var recording = Recording()
        var (broken, isLost) = (0, false)
        for setup in StringSetup.allCases {
            let outcome = try stage.children.run("string", [setup.rawValue], timeout: stage.timeout)
            let seen = Recording(events: outcome.events)
            let verdict = StringVerdict(setup, outcome.ending, seen.values)
            rows.append([setup.title, setup.isExclusive ? "yes" : "no", verdict.plain, verdict.guarded, verdict.text])
            if verdict.text != "match" { broken += 1 }
            isLost = isLost || verdict.isGuardBroken || (setup.isExclusive && verdict.text != "match")
            recording.append(seen, as: setup.title)
        }
        return [
            Scene(
                "Ten set-ups, one after the other", recording,
                table: Table(columns: ["queues", "exclusive", "plain", "guarded", "verdict"], rows: rows),
                findings: [
                    "\(broken) of \(StringSetup.allCases.count) without a match; the guarded string lost "
                        + (isLost ? "letters, which is a bug." : "nothing.")
                ], hasFailed: isLost)
        ]
    }

    /// The letters that each guard loses, and its cost.
    static let guards = Experiment(
        name: "guards", title: "Guards and their costs",
        lookAt: "Four tasks write to one string. How long does each guard take? Are letters lost?",
        platform: """
            The lock is a pthread mutex, which the thread sanitizer understands on Linux; Synchronization.Mutex and \
            .barrier look like races to it.
            """
    ) { stage throws(LabError) in
        let recorder = Recorder()
        var rows: [[String]] = []
        var isLost = false
        for kind in StringGuard.allCases {
            let kept = recorder.span(kind.rawValue, "writes") { kind.write() }
            guard let span = recorder.recording.spans(on: kind.rawValue).first, let end = span.end else { continue }
            isLost = isLost || kept != StringGuard.all
            rows.append([
                kind.rawValue, "\(StringGuard.all)", "\(StringGuard.all - kept)",
                "\((end - span.start) / Int64(StringGuard.all)) ns",
            ])
        }
        rows.append(try Self.unguarded(stage))
        return [
            Scene(
                "Four tasks, 5000 letters each, one guard after the other", recorder.recording,
                table: Table(columns: ["guard", "written", "lost", "cost of each"], rows: rows),
                findings: ["The guards lost \(isLost ? "letters, which is a bug." : "nothing.")"], hasFailed: isLost)
        ]
    }
}

extension Experiment {
    /// Returns the row for no guard. If the two writers happen not to race, up to four more runs follow.
    private static func unguarded(_ stage: Stage) throws(LabError) -> [String] {
        let setup = StringSetup.twoSerial
        let written = setup.letters * StringSetup.writers.count
        var lost = "0"
        for _ in 1...5 where lost == "0" {
            let outcome = try stage.children.run("string", [setup.rawValue], timeout: stage.timeout)
            let plain = Recording(events: outcome.events).values["plain"]
            lost = plain.map { "\(written - $0)" } ?? "all: \(outcome.ending.short)"
        }
        return ["none, in a child process", "\(written)", lost, ""]
    }
}

/// The result of one setup.
private struct StringVerdict {
    var plain = "?"
    var guarded = "?"
    var text: String
    var isGuardBroken = false

    init(_ setup: StringSetup, _ ending: ChildLauncher.Ending, _ values: [String: Int]) {
        let expected = setup.letters * StringSetup.writers.count
        if let length = values["guarded"] {
            guarded = "\(length)"
            isGuardBroken = length != expected
        }
        if let length = values["plain"] { plain = "\(length)" }
        switch (ending, values["match"]) {
        case (_, 1?): text = "match"
        case (_, 0?):
            let lost = expected - (values["plain"] ?? 0)
            text = lost > 0 ? "no match: \(lost) lost" : "no match: order"
        default: text = "no match: \(ending.short)"
        }
    }
}

extension Recording {
    /// Appends the recording of another process, as one track after the existing records.
    mutating func append(_ other: Recording, as track: String) {
        let (number, time) = (tracks.count, duration)
        let order = (spans.flatMap { [$0.startOrder, $0.endOrder ?? $0.startOrder] } + marks.map(\.order)).max() ?? -1
        let thread = (spans.map(\.thread) + marks.map(\.thread)).max() ?? 0
        tracks.append(track)
        for span in other.spans {
            var span = span
            span.track = number
            span.start += time
            span.end = span.end.map { $0 + time }
            span.thread += thread
            span.startOrder += order + 1
            span.endOrder = span.endOrder.map { $0 + order + 1 }
            spans.append(span)
        }
        for mark in other.marks {
            var mark = mark
            mark.track = number
            mark.time += time
            mark.thread += thread
            mark.order += order + 1
            marks.append(mark)
        }
        duration += other.duration
    }
}

/// Four guards that let one task at a time write into a string.
enum StringGuard: String, CaseIterable {
    case serial = "serial queue, sync"
    case isolation = "concurrent queue, barrier"
    case lock
    case actor

    static let (writers, letters) = (4, 5000)
    static var all: Int { writers * letters }

    /// Runs all writers concurrently.
    ///
    /// - Returns: The number of letters in the string afterwards.
    func write() -> Int {
        switch self {
        case .serial:
            let string = SerialString()
            return Self.together(string.append) { string.count }
        case .isolation:
            let string = QueueGuarded("")
            return Self.together({ string.write { $0.append("x") } }, count: { string.read { $0.utf8.count } })
        case .lock:
            let string = Guarded("")
            return Self.together({ string.withLock { $0.append("x") } }, count: { string.withLock { $0.utf8.count } })
        case .actor:
            let string = StringActor()
            let count = Guarded(0)
            BlockingAwait.task {
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<Self.writers {
                        group.addTask { for _ in 0..<Self.letters { await string.append() } }
                    }
                }
                let length = await string.count
                count.withLock { $0 = length }
            }
            return count.withLock { $0 }
        }
    }

    private static func together(_ append: @escaping @Sendable () -> Void, count: () -> Int) -> Int {
        let group = DispatchGroup()
        for writer in 0..<writers {
            DispatchQueue(label: "lab.writer \(writer)").async(group: group) { for _ in 0..<letters { append() } }
        }
        group.wait()
        return count()
    }
}

/// A string confined to a serial queue.
// Unchecked: `string` is accessed only on the queue.
private final class SerialString: @unchecked Sendable {
    private let queue = DispatchQueue(label: "lab.string")
    private var string = ""

    @Sendable func append() { queue.sync { string.append("x") } }

    var count: Int { queue.sync { string.utf8.count } }
}

private actor StringActor {
    private var string = ""

    func append() { string.append("x") }

    var count: Int { string.utf8.count }
}
