internal import Dispatch
internal import InflightConcurrency
internal import InflightPatterns

extension Experiment {
    /// Groups of synchronous, asynchronous and mixed work, beside ungrouped work.
    static let groups = Experiment(
        name: "groups", title: "Groups",
        lookAt: "When is completion reported, and is all done?",
        platform: """
            As on Apple's systems. Leaving a DispatchGroup once too often stops the program; entering once too often waits \
            forever; a WorkGroup's members do neither.
            """
    ) { stage throws(LabError) in
        [
            Self.ungrouped(stage), Self.synchronous(stage), Self.asynchronous(stage, enters: false),
            Self.asynchronous(stage, enters: true), Self.mixed(stage),
        ]
    }

    private static let (work, caller) = ("work", "caller")
    private static let allDone = "all done?"

    private static func ungrouped(_ stage: Stage) -> Scene {
        let recorder = Recorder(tracks: [caller, work])
        let (hasBegun, hasEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        for number in 1...3 {
            DispatchQueue(label: "lab.work \(number)").async {
                recorder.span(work, "\(number)") {
                    hasBegun.signal()
                    stage.rest(Double(number) + 1)
                }
                hasEnded.signal()
            }
        }
        for _ in 1...3 { hasBegun.wait() }
        recorder.mark(caller, allDone)
        for _ in 1...3 { hasEnded.wait() }
        return scene("No group: nothing reports the end of the work", recorder)
    }

    private static func synchronous(_ stage: Stage) -> Scene {
        let recorder = Recorder(tracks: [caller, work])
        let (group, done) = (DispatchGroup(), DispatchSemaphore(value: 0))
        for number in 1...3 {
            DispatchQueue(label: "lab.work \(number)").async(group: group) {
                recorder.span(work, "\(number)") { stage.rest(Double(number)) }
            }
        }
        group.notify(queue: DispatchQueue(label: "lab.notified")) {
            recorder.mark(caller, allDone)
            done.signal()
        }
        done.wait()
        return scene("Synchronous work, async(group:)", recorder)
    }

    /// Performs work that only starts an operation, and returns long before the operation has ended.
    private static func asynchronous(_ stage: Stage, enters: Bool) -> Scene {
        let recorder = Recorder(tracks: [caller, work])
        let (group, done, ended) = (DispatchGroup(), DispatchSemaphore(value: 0), DispatchGroup())
        let isTold = DispatchGroup()
        isTold.enter()
        for number in 1...3 {
            if enters { group.enter() }
            ended.enter()
            let start: @Sendable () -> Void = {
                let span = recorder.begin(work, "\(number)", .away)
                DispatchQueue(label: "lab.timer").asyncAfter(
                    deadline: .now() + .nanoseconds(Int(stage.units(Double(number)).saturatedNanoseconds))
                ) {
                    // Waits for the premature notification, so that it precedes the end of the work on any machine.
                    if !enters { isTold.wait() }
                    span.end()
                    ended.leave()
                    if enters { group.leave() }
                }
            }
            let queue = DispatchQueue(label: "lab.work \(number)")
            if enters { queue.async(execute: start) } else { queue.async(group: group, execute: start) }
        }
        group.notify(queue: DispatchQueue(label: "lab.notified")) {
            recorder.mark(caller, allDone)
            isTold.leave()
            done.signal()
        }
        done.wait()
        ended.wait()
        return scene(
            enters
                ? "Asynchronous work, enter() and leave()" : "Asynchronous work, async(group:): it leaves too early",
            recorder)
    }

    private static func mixed(_ stage: Stage) -> Scene {
        let recorder = Recorder(tracks: [caller, work])
        let done = DispatchSemaphore(value: 0)
        let group = WorkGroup(on: .queue(DispatchQueue(label: "lab.notified"))) {
            recorder.mark(caller, allDone)
            done.signal()
        }
        let member = group.enter()
        let callback = recorder.begin(work, "callback", .away)
        DispatchQueue(label: "lab.timer").asyncAfter(
            deadline: .now() + .nanoseconds(Int(stage.units(3).saturatedNanoseconds))
        ) {
            callback.end()
            member.leave()
        }
        group.task {
            let span = recorder.begin(work, "await", .away)
            try? await Task.sleep(for: stage.units(2))
            span.end()
        }
        group.run { recorder.span(work, "sync") { stage.rest() } }
        group.seal()
        done.wait()
        return scene("Synchronous, callback and await in one WorkGroup", recorder)
    }

    private static func scene(_ title: String, _ recorder: Recorder) -> Scene {
        let recording = recorder.recording
        let told = recording.mark(allDone)?.order ?? 0
        let late = recording.spans(on: work).count { ($0.endOrder ?? .max) > told }
        return Scene(
            title, recording,
            findings: [
                late == 0
                    ? "At \"all done?\", all work was done."
                    : "At \"all done?\", \(late) of \(recording.spans(on: work).count) were still in flight."
            ])
    }
}
