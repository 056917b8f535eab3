internal import CInflightLab
internal import Dispatch
internal import InflightConcurrency

/// Priority inversion: a high-priority task waits for a lock that a low-priority task holds, and medium-priority tasks,
/// if any, take the processor from the latter.
enum InversionChild {
    static let (low, medium, high) = ("low: background", "medium: default", "high: interactive")
    static let holds = "holds the lock"
    static let waits = "waits for lock"
    static let acquired = "has the lock"

    /// The number of tasks of medium importance. Beside them, the low one gets 1/38 of the processor.
    private static let mediumTasks = 4

    static func run(_ recorder: Recorder, hasThird: Bool) {
        // On several processors, all tasks would run at once.
        recorder.count("processors pinned", lab_use_one_processor() == 0 ? 1 : 0)
        let stage = Stage()
        let lock = DispatchSemaphore(value: 1)
        let group = DispatchGroup()
        let (isHeld, isWanted) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let isOver = CancellationFlag()

        DispatchQueue(label: "low", qos: .background).async(group: group) {
            lock.wait()
            let span = recorder.begin(low, holds)
            isHeld.signal()
            stage.compute(4)
            span.end()
            lock.signal()
        }
        isHeld.wait()
        DispatchQueue(label: "high", qos: .userInteractive).async(group: group) {
            let wait = recorder.begin(high, waits, .wait)
            isWanted.signal()
            lock.wait()
            wait.end()
            recorder.span(high, acquired) { stage.compute(1) }
            lock.signal()
            isOver.cancel()
        }
        isWanted.wait()
        if hasThird {
            for number in 1...mediumTasks {
                DispatchQueue(label: "medium \(number)").async(group: group) {
                    // Computes until the high task has ended.
                    recorder.span(medium, "computes") { while !isOver.isCancelled { stage.compute(0.1) } }
                }
            }
        }
        group.wait()
    }
}
