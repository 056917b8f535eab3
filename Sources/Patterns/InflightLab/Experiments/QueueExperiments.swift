internal import Dispatch
internal import InflightConcurrency

extension Experiment {
    /// Global queues by quality of service.
    static let qualities = Experiment(
        name: "qos", title: "Global queues by quality of service",
        lookAt: "The lowest class is submitted first. When does each begin, and which keeps its processor?",
        platform: """
            Here a quality of service is the nice value of the queue's threads, shown in the table: it divides scarce \
            processors, and orders nothing. Without the right to lower it (root has it), the two highest stay at 0.
            """
    ) { stage throws(LabError) in
        let classes: [(String, DispatchQoS.QoSClass)] = [
            ("background", .background), ("utility", .utility), ("default", .default),
            ("userInitiated", .userInitiated), ("userInteractive", .userInteractive),
        ]
        let recorder = Recorder(tracks: ["caller"] + classes.map(\.0))
        let group = DispatchGroup()
        recorder.span("caller", "submits") {
            for (name, quality) in classes {
                for number in 1...2 {
                    DispatchQueue.global(qos: quality).async(group: group) {
                        recorder.span(name, "\(number)") { stage.compute(1.5) }
                    }
                }
            }
        }
        group.wait()
        let recording = recorder.recording
        let rows = classes.map { name, _ in
            let spans = recording.spans(on: name)
            return [
                name, Set(spans.map(\.nice)).sorted().map(String.init).joined(separator: ", "),
                Milliseconds.text(spans.map(\.start).min() ?? 0), Milliseconds.text(spans.compactMap(\.end).max() ?? 0),
            ]
        }
        return [
            Scene(
                "Two computations on each of five queues, submitted lowest class first", recording,
                table: Table(columns: ["quality of service", "nice", "first began", "last ended"], rows: rows))
        ]
    }

    /// `sync` against `async`.
    static let syncAndAsync = Experiment(
        name: "sync-async", title: "sync against async",
        lookAt: "Where does the caller wait? Which thread runs the work passed to sync?",
        platform: """
            As on Apple's systems, sync runs its work on the caller's own thread if possible; only the main queue's work \
            waits for the main thread.
            """
    ) { stage throws(LabError) in
        [true, false].map { isSync in
            let recorder = Recorder(tracks: ["caller", "queue"])
            let queue = DispatchQueue(label: "lab.queue")
            let group = DispatchGroup()
            for number in 1...3 {
                let work: @Sendable () -> Void = { recorder.span("queue", "\(number)") { stage.rest() } }
                if isSync {
                    recorder.span("caller", "sync \(number)", .wait) { queue.sync(execute: work) }
                } else {
                    recorder.span("caller", "async \(number)") { queue.async(group: group, execute: work) }
                }
            }
            recorder.span("caller", "goes on") { stage.rest() }
            group.wait()
            let recording = recorder.recording
            let isOwn = recording.threads(recording.spans(on: "queue") + recording.spans(on: "caller")) == 1
            let finding =
                isOwn
                ? "The caller's own thread ran everything."
                : "async returned at once; another thread did the work."
            return Scene(
                isSync ? "queue.sync, three times" : "queue.async, three times", recording, findings: [finding])
        }
    }

    /// A private serial queue.
    static let serial = Experiment(
        name: "serial", title: "A private serial queue",
        lookAt: "Two submitters add tasks. In which order do they run? Does one begin before another has ended?",
        platform: """
            A private serial queue gets a thread beyond the pool's limit if it needs one, so many serial queues take many \
            threads. The thread may change from task to task; the order never does.
            """
    ) { stage throws(LabError) in
        let recorder = Recorder(tracks: ["submitters", "serial queue"])
        let queue = DispatchQueue(label: "lab.serial")
        let group = DispatchGroup()
        for round in 1...3 {
            for submitter in ["a", "b"] {
                recorder.mark("submitters", "\(submitter)\(round)")
                queue.async(group: group) { recorder.span("serial queue", "\(submitter)\(round)") { stage.rest(0.8) } }
            }
            stage.rest(0.5)
        }
        group.wait()
        let recording = recorder.recording
        let spans = recording.spans(on: "serial queue")
        let isOrdered = spans.map(\.label) == recording.marks(on: "submitters").map(\.label)
        return [
            Scene(
                "Six tasks", recording,
                findings: [
                    "They ran \(isOrdered ? "in the order of submission" : "out of order"), "
                        + "\(recording.peakConcurrency(spans)) at a time, on \(Phrase.threads(recording.threads(spans)))."
                ], hasFailed: !isOrdered || recording.peakConcurrency(spans) != 1)
        ]
    }

    /// Serial queues with priorities, and `asyncAfter`.
    static let priorities = Experiment(
        name: "priorities", title: "Serial queues with priorities, and asyncAfter",
        lookAt:
            "Two serial queues of different priority share the processors. Does asyncAfter order by deadline or by call?",
        platform: """
            The priority is a nice value (see qos): the background queue continues, only slower if processors are scarce. \
            A deadline is the earliest time, never the exact one; there are no timer classes that delay it here.
            """
    ) { stage throws(LabError) in
        [Self.twoPriorities(stage), Self.deadlines(stage)]
    }

    private static func twoPriorities(_ stage: Stage) -> Scene {
        let recorder = Recorder(tracks: ["background", "userInitiated"])
        let group = DispatchGroup()
        for (name, quality) in [("background", DispatchQoS.background), ("userInitiated", .userInitiated)] {
            let queue = DispatchQueue(label: "lab.\(name)", qos: quality)
            for number in 1...4 {
                queue.async(group: group) { recorder.span(name, "\(number)") { stage.compute(1) } }
            }
        }
        group.wait()
        let recording = recorder.recording
        let ends = ["background", "userInitiated"].map { recording.spans(on: $0).compactMap(\.end).max() ?? 0 }
        return Scene(
            "Four computations on each of two serial queues", recording,
            findings: [
                "Each queue kept its own order. Background ended after \(Milliseconds.text(ends[0])), userInitiated "
                    + "after \(Milliseconds.text(ends[1]))."
            ])
    }

    private static func deadlines(_ stage: Stage) -> Scene {
        let recorder = Recorder(tracks: ["calls", "serial queue"])
        let queue = DispatchQueue(label: "lab.later")
        let group = DispatchGroup()
        // Recorded before the time is taken, so that no span can begin earlier than its label says.
        recorder.mark("calls", "start")
        let start = DispatchTime.now()
        for units in [5, 1, 3] {
            recorder.mark("calls", "in \(units)")
            group.enter()
            queue.asyncAfter(deadline: start + .nanoseconds(Int(stage.units(Double(units)).saturatedNanoseconds))) {
                recorder.span("serial queue", "\(units)") { stage.rest(0.8) }
                group.leave()
            }
        }
        recorder.mark("calls", "now")
        queue.async(group: group) { recorder.span("serial queue", "0") { stage.rest(0.6) } }
        group.wait()
        let recording = recorder.recording
        let spans = recording.spans(on: "serial queue")
        let isEarly = spans.contains { span in
            span.start < (Int64(span.label) ?? 0) * stage.unit.saturatedNanoseconds
        }
        return Scene(
            "asyncAfter in 5, 1 and 3 units of time, then a plain async", recording,
            findings: [
                "They ran in this order: \(spans.map(\.label).joined(separator: ", ")); "
                    + (isEarly ? "one too early, which is a bug." : "none too early.")
            ], hasFailed: isEarly)
    }

    /// Concurrent queues.
    static let concurrent = Experiment(
        name: "concurrent", title: "Concurrent queues",
        lookAt: "How many run at once? What does the barrier separate? When do eight sleeping tasks begin?",
        platform: """
            The pool has about as many threads as there are processors. While its threads sleep, it grows by only one \
            about every second: eight tasks that wait for something delay all other work.
            """
    ) { stage throws(LabError) in
        [Self.barrier(stage), Self.sleepers(stage)]
    }

    private static func barrier(_ stage: Stage) -> Scene {
        let recorder = Recorder(tracks: ["readers", "barrier"])
        let queue = DispatchQueue(label: "lab.concurrent", attributes: .concurrent)
        let group = DispatchGroup()
        func readers(_ numbers: ClosedRange<Int>) {
            // The readers wait for each other, so they can continue only because they run at the same time.
            let meeting = ThreadBarrier(numbers.count)
            for number in numbers {
                queue.async(group: group) {
                    recorder.span("readers", "\(number)") {
                        meeting.wait()
                        stage.rest(1.5)
                    }
                }
            }
        }
        readers(1...2)
        // Not with the `group` parameter of `async`, which loses the flag under the thread sanitizer on Linux.
        group.enter()
        queue.async(flags: .barrier) {
            recorder.span("barrier", "writes") { stage.rest() }
            group.leave()
        }
        readers(3...4)
        group.wait()
        let recording = recorder.recording
        let readers = recording.spans(on: "readers")
        let writer = recording.spans(on: "barrier")
        let isAlone = !readers.contains { reader in writer.contains { $0.overlaps(reader) } }
        return Scene(
            "Four readers, with a barrier in the middle", recording,
            findings: [
                "\(recording.peakConcurrency(readers)) readers ran at once; the barrier ran "
                    + (isAlone ? "alone." : "beside a reader, which is a bug.")
            ], hasFailed: !isAlone)
    }

    private static func sleepers(_ stage: Stage) -> Scene {
        let recorder = Recorder(tracks: ["concurrent queue"])
        let queue = DispatchQueue(label: "lab.sleepers", attributes: .concurrent)
        let group = DispatchGroup()
        for number in 1...8 {
            queue.async(group: group) { recorder.span("concurrent queue", "\(number)") { stage.rest(3) } }
        }
        group.wait()
        let recording = recorder.recording
        return Scene(
            "Eight tasks that sleep", recording,
            findings: [
                "At most \(recording.peakConcurrency(recording.spans)) at once, on "
                    + "\(Phrase.threads(recording.threads(recording.spans)))."
            ])
    }

    /// Queues that start inactive.
    static let inactive = Experiment(
        name: "inactive", title: "Queues that start inactive",
        lookAt: "Nothing runs before activate(). Until then, a concurrent queue can get a serial target.",
        platform: "As on Apple's systems: releasing a queue that is still inactive stops the program."
    ) { stage throws(LabError) in
        [false, true].map { hasTarget in
            let recorder = Recorder(tracks: ["caller", "queue"])
            let queue = DispatchQueue(label: "lab.inactive", attributes: [.concurrent, .initiallyInactive])
            if hasTarget { queue.setTarget(queue: DispatchQueue(label: "lab.target")) }
            let group = DispatchGroup()
            for number in 1...3 {
                recorder.mark("caller", "\(number)")
                queue.async(group: group) { recorder.span("queue", "\(number)") { stage.rest() } }
            }
            recorder.span("caller", "prepares") { stage.rest(2) }
            recorder.mark("caller", "activate")
            queue.activate()
            group.wait()
            let recording = recorder.recording
            let activation = recording.mark("activate")?.order ?? 0
            let waited = recording.spans(on: "queue").allSatisfy { $0.startOrder > activation }
            return Scene(
                hasTarget ? "Concurrent, with a serial target set while it was inactive" : "Concurrent", recording,
                findings: [
                    "\(waited ? "None" : "Some") began before activate(); then at most "
                        + "\(recording.peakConcurrency(recording.spans(on: "queue"))) ran at once."
                ], hasFailed: !waited)
        }
    }
}
