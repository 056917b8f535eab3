/// Decides when a run takes lines and when it ends, without a queue, a clock or I/O.
struct RunMachine {
    enum State: Equatable {
        case running
        /// The run ends early: it takes no more lines, and waits for the jobs of its worker threads.
        case stopping(status: Int32)
        case ended
    }

    /// The maximum number of lines not reported yet, such as those that wait for a file name or for earlier lines.
    static let mostUnreported = 4096
    /// The maximum number of bytes of memory for their URLs and their lines of JSON.
    static let mostUnreportedBytes = 8 << 20

    private(set) var state = State.running
    private let mostBodies: Int
    /// The number of bodies that are being fetched or are in memory.
    private var bodies = 0
    /// The number of unfinished jobs of the worker threads.
    private var jobs = 0

    init(mostBodies: Int) {
        self.mostBodies = mostBodies
    }

    var isRunning: Bool { state == .running }

    /// Whether one more line may be taken.
    func takesLine(unreported: Int, bytes: Int) -> Bool {
        isRunning && bodies < mostBodies && unreported < Self.mostUnreported && bytes < Self.mostUnreportedBytes
    }

    mutating func bodyBegan() { bodies += 1 }
    mutating func bodyEnded() { bodies -= 1 }
    mutating func jobBegan() { jobs += 1 }
    mutating func jobEnded() { jobs -= 1 }

    /// The run is to end early.
    ///
    /// - Returns: Whether this is the first reason to.
    mutating func stopped(status: Int32) -> Bool {
        guard isRunning else { return false }
        state = .stopping(status: status)
        return true
    }

    /// An event was handled.
    ///
    /// - Parameters:
    ///   - isComplete: Whether every line was taken and reported.
    ///   - status: The exit status of a complete run.
    /// - Returns: The exit status if the run ends now.
    mutating func eventHandled(isComplete: Bool, status: () -> Int32) -> Int32? {
        guard jobs == 0 else { return nil }
        let result: Int32
        switch state {
        case .running where isComplete: result = status()
        case .stopping(let status): result = status
        case .running, .ended: return nil
        }
        state = .ended
        return result
    }
}
