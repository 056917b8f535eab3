internal import Dispatch
internal import InflightConcurrency

extension Experiment {
    /// Work items: enforced quality of service, cancel, notify, one item on two queues.
    static let workItems = Experiment(
        name: "work-items", title: "Work items",
        lookAt: "What does cancel stop? When is notify called? Can one item run on two queues?",
        platform: """
            An enforced quality of service changes nothing here: the item runs with the nice value of its queue's thread. \
            On Apple's systems it would be raised.
            """
    ) { stage throws(LabError) in
        [Self.enforced(stage), Self.cancelled(stage), Self.notified(stage), Self.onTwoQueues(stage)]
    }

    private static func enforced(_ stage: Stage) -> Scene {
        let recorder = Recorder(tracks: ["background queue"])
        let queue = DispatchQueue(label: "lab.background", qos: .background)
        let group = DispatchGroup()
        let plain = DispatchWorkItem { recorder.span("background queue", "plain") { stage.compute() } }
        let enforced = DispatchWorkItem(qos: .userInteractive, flags: .enforceQoS) {
            recorder.span("background queue", "enforced") { stage.compute() }
        }
        queue.async(group: group, execute: plain)
        queue.async(group: group, execute: enforced)
        group.wait()
        let recording = recorder.recording
        let nices = ["plain", "enforced"].map { recording.span($0)?.nice ?? 0 }
        return Scene(
            "An item with .enforceQoS behind a plain one, on a background queue", recording,
            findings: [
                "The plain item ran at nice \(nices[0]), the enforced one at nice \(nices[1])"
                    + (nices[0] == nices[1] ? ": no difference." : ".")
            ])
    }

    private static func cancelled(_ stage: Stage) -> Scene {
        let recorder = Recorder(tracks: ["caller", "queue"])
        let queue = DispatchQueue(label: "lab.items")
        let group = DispatchGroup()
        let (hasBegun, isCancelled) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let itself = Guarded<DispatchWorkItem?>(nil)
        let first = DispatchWorkItem {
            recorder.span("queue", "first") {
                hasBegun.signal()
                isCancelled.wait()
                stage.rest()
                if itself.withLock({ $0?.isCancelled }) == true { recorder.mark("queue", "isCancelled: true") }
            }
        }
        itself.withLock { $0 = first }
        let second = DispatchWorkItem { recorder.span("queue", "second") { stage.rest() } }
        for item in [first, second] { queue.async(group: group, execute: item) }
        hasBegun.wait()
        stage.rest()
        for (name, item) in [("cancel first", first), ("cancel second", second)] {
            recorder.mark("caller", name)
            item.cancel()
        }
        isCancelled.signal()
        group.wait()
        // Breaks the retain cycle of the item and its closure.
        itself.withLock { $0 = nil }
        let recording = recorder.recording
        let began = recording.spans(on: "queue").map(\.label)
        return Scene(
            "Both are cancelled: one is running, the other queued", recording,
            findings: [
                "The running item continued; it has to check isCancelled itself. The queued item "
                    + (began.contains("second") ? "ran anyway." : "never began.")
            ], hasFailed: began != ["first"])
    }

    private static func notified(_ stage: Stage) -> Scene {
        let recorder = Recorder(tracks: ["work", "notified"])
        let done = DispatchSemaphore(value: 0)
        let item = DispatchWorkItem { recorder.span("work", "item") { stage.rest(2) } }
        item.notify(queue: DispatchQueue(label: "lab.notified")) {
            recorder.span("notified", "notify") { stage.rest() }
            done.signal()
        }
        DispatchQueue.global().async(execute: item)
        done.wait()
        return Scene("notify on another queue", recorder.recording)
    }

    private static func onTwoQueues(_ stage: Stage) -> Scene {
        let recorder = Recorder(tracks: ["queue 1", "queue 2"])
        let key = DispatchSpecificKey<String>()
        let group = DispatchGroup()
        let item = DispatchWorkItem {
            recorder.span(DispatchQueue.getSpecific(key: key) ?? "elsewhere", "item") { stage.rest(2) }
        }
        for name in ["queue 1", "queue 2"] {
            let queue = DispatchQueue(label: name)
            queue.setSpecific(key: key, value: name)
            queue.async(group: group, execute: item)
        }
        group.wait()
        let recording = recorder.recording
        return Scene(
            "One item on two serial queues", recording,
            findings: [
                "It ran \(recording.spans.count) times, \(recording.peakConcurrency(recording.spans)) at once: an item "
                    + "is not a lock."
            ])
    }
}
