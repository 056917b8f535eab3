internal import Dispatch

/// One count per thread.
// Unchecked: each thread writes its own element, and they are read after all threads have finished.
private final class Counts: @unchecked Sendable {
    private final class Box {
        var count = 0
    }

    private let boxes: [Box]

    init(_ threads: Int) { boxes = (0..<threads).map { _ in Box() } }

    func set(_ count: Int, thread: Int) { boxes[thread].count = count }
    var sum: Int { boxes.reduce(0) { $0 + $1.count } }
}

extension Sample {
    /// Repeats `work` on each thread until the time is over. The sample has `pictures` (the number of calls), `seconds`
    /// and `cpu`.
    ///
    /// - Parameter work: receives an index that starts at the thread's number and increases by one. Each thread first
    ///   calls it once untimed, which starts the decoder processes if there are any.
    public static func throughput(
        threads: Int, seconds: Double, _ work: @Sendable (_ index: Int) -> Void
    ) -> Sample {
        let counts = Counts(threads)
        DispatchQueue.concurrentPerform(iterations: threads) { work($0) }
        let start = Usage.now()
        DispatchQueue.concurrentPerform(iterations: threads) { thread in
            var done = 0
            while Usage.now().wall - start.wall < seconds {
                work(thread + done)
                done += 1
            }
            counts.set(done, thread: thread)
        }
        let used = Usage.now() - start
        var sample = Sample()
        sample.add("pictures", counts.sum)
        sample.add("seconds", used.wall)
        sample.add("cpu", used.cpu)
        return sample
    }
}
