internal import InflightConcurrency

extension Experiment {
    /// A race.
    static let race = Experiment(
        name: "race", title: "A race",
        lookAt: "Two threads each increment one number half a million times. What is the result?",
        platform: """
            The thread sanitizer works here as it does on Apple's systems, from the command line: `make lab-tsan` builds the \
            command with it and runs this experiment.
            """
    ) { stage throws(LabError) in
        let outcome = try stage.children.run("race", timeout: stage.timeout)
        let recording = Recording(events: outcome.events)
        let wanted = 2 * RaceChild.additions
        var findings: [String] = []
        if let counted = recording.values["counted"] {
            let lost = wanted - counted
            findings.append(
                "\(lost) of a million additions (\(Phrase.percent(lost, of: wanted))) are lost: the result is \(counted)."
            )
        } else {
            findings.append("The child process \(outcome.ending.text) before reporting.")
        }
        if let report = SanitizerReport(outcome.errors) {
            findings.append("The thread sanitizer found it: \(report.summary)")
        }
        return [Scene("In a child process", recording, findings: findings)]
    }

    /// A deadlock.
    static let deadlock = Experiment(
        name: "deadlock", title: "A deadlock",
        lookAt: "The main queue waits for itself. Is it detected? How does the process end?",
        platform: """
            libdispatch checks the owner of the queue that sync would wait for, also through several queues, and stops \
            the program with SIGILL (SIGTRAP on Apple's systems). It does not track semaphores: use a timeout.
            """
    ) { stage throws(LabError) in
        try [
            ("main-sync", "main.sync from the main queue"),
            ("main-wait", "The main queue waits for a semaphore that only it would signal"),
        ].map { name, title throws(LabError) in
            let outcome = try stage.children.run(name, timeout: min(stage.timeout, .seconds(1)))
            let recording = Recording(events: outcome.events + [outcome.end(on: DeadlockChild.track)])
            let isDetected: Bool
            switch outcome.ending {
            case .crashed, .timedOut: isDetected = true
            case .exited: isDetected = false
            }
            return Scene(
                title, recording, findings: ["The child process \(outcome.ending.text)."],
                hasFailed: !isDetected || recording.span("work") == nil)
        }
    }

    /// Priority inversion with two tasks.
    static let inversion = Experiment(
        name: "inversion", title: "Priority inversion with two tasks",
        lookAt: "How long does the high task wait for the lock that the low one holds?",
        platform: """
            On Apple's systems a queue or an unfair lock raises its holder's priority. Here nothing does: the low task \
            keeps its nice value, and a semaphore has no owner.
            """
    ) { stage throws(LabError) in [try Self.inverted(stage, child: "inversion")] }

    /// Priority inversion with three tasks.
    static let inversionOfThree = Experiment(
        name: "inversion-three", title: "Priority inversion with three tasks",
        lookAt: """
            Medium tasks need no lock, but keep the low one from the only processor. So the high one waits for them all.
            """,
        platform: """
            Nice values are shares, not ranks: at nice 10 beside four at nice 0 the low task gets 1/38 of the processor. \
            So it continues, and the high one waits about forty times as long as with two.
            """
    ) { stage throws(LabError) in [try Self.inverted(stage, child: "inversion-three")] }

    private static func inverted(_ stage: Stage, child: String) throws(LabError) -> Scene {
        let outcome = try stage.children.run(child, timeout: min(stage.timeout, .milliseconds(1500)))
        let ending = outcome.ending == .timedOut ? [outcome.end(on: InversionChild.high)] : []
        let recording = Recording(
            tracks: [InversionChild.high, InversionChild.medium, InversionChild.low].filter {
                child == "inversion-three" || $0 != InversionChild.medium
            }, events: outcome.events + ending)
        var findings: [String] = []
        if let wait = recording.span(InversionChild.waits), let hold = recording.span(InversionChild.holds) {
            let isOver = wait.end != nil
            findings.append(
                "The high task (nice \(wait.nice)) \(isOver ? "waited" : "had waited") "
                    + "\(Milliseconds.text(wait.duration(until: recording.duration))) for the low one (nice \(hold.nice))"
                    + (isOver
                        ? ": as long as it held the lock."
                        : " at the time limit: priority inversion. The child process was killed."))
        } else {
            findings.append("The child process \(outcome.ending.text) before both requested the lock.")
        }
        if recording.values["processors pinned"] == 0 {
            findings.append("It could not be pinned to one processor: on two, all tasks run.")
        }
        return Scene("In a child process, on one processor", recording, findings: findings)
    }
}

extension ChildLauncher.Outcome {
    /// Returns the record of the end of the process, which the process itself cannot report.
    fileprivate func end(on track: String) -> RecordedEvent {
        RecordedEvent(
            time: endedAt.nanoseconds, what: .marked(track: track, label: ending.mark, isTrouble: true, thread: 0))
    }
}

/// The thread sanitizer's report on a child process.
struct SanitizerReport: Equatable {
    /// The kind of problem and its source location, in one line.
    var summary: String

    /// Returns `nil` if the text reports no race.
    init?(_ text: String) {
        let lines = text.split(separator: "\n")
        guard lines.contains(where: { $0.contains("WARNING: ThreadSanitizer: data race") }) else { return nil }
        // `SUMMARY: ThreadSanitizer: data race PATH/FILE[:LINE:COLUMN] in FUNCTION`, with the function's mangled name.
        let place = lines.first { $0.hasPrefix("SUMMARY: ") }?.split(separator: " ").first { $0.contains(".swift") }
        summary = place.map { "a data race at \($0.split(separator: "/").last ?? $0)." } ?? "a data race."
    }
}
