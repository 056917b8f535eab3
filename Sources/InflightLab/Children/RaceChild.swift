internal import Dispatch

/// Two threads add to one number, and nothing guards it.
enum RaceChild {
    /// Of each thread, in each try.
    static let additions = 500_000
    private static let mostTries = 8

    /// Until something is lost: on a busy machine the two may happen not to meet.
    static func run(_ recorder: Recorder) {
        for number in 1...mostTries {
            recorder.count("tries", number)
            let counted = count(recorder)
            recorder.count("counted", counted)
            if counted < 2 * additions { return }
        }
    }

    private static func count(_ recorder: Recorder) -> Int {
        // Racing is what it is here for: reads and writes of both threads meet, and the process is thrown away after.
        nonisolated(unsafe) let counter = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        unsafe counter.initialize(to: 0)
        defer { unsafe counter.deallocate() }
        let group = DispatchGroup()
        let start = StartLine(2)
        for name in ["first thread", "second thread"] {
            DispatchQueue(label: name).async(group: group) {
                start.wait()
                recorder.span(name, "+ 1") {
                    for _ in 0..<additions { unsafe addOne(to: counter) }
                }
            }
        }
        group.wait()
        return unsafe counter.pointee
    }

    /// Not inlined: else the compiler adds them all in one step, and there is no race to see.
    @inline(never)
    private static func addOne(to counter: UnsafeMutablePointer<Int>) {
        let seen = unsafe counter.pointee
        unsafe counter.pointee = seen + 1
    }
}

/// Holds everybody until all are there, so that they begin together.
struct StartLine {
    private let group = DispatchGroup()

    init(_ count: Int) {
        for _ in 0..<count { group.enter() }
    }

    func wait() {
        group.leave()
        group.wait()
    }
}
