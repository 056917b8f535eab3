internal import CInflightConcurrency
internal import Glibc

/// Runs closures at their deadlines, one after the other, on its own thread.
///
/// It needs no file descriptor. A Dispatch timer does, and traps if the process has none left.
// Unchecked: `queue` and `isRunning` are accessed only with `mutex` held. Safe: the condition never escapes.
@safe final class TimerThread: @unchecked Sendable {
    static let shared = TimerThread()

    private let mutex = Lock()
    // The condition never moves, and lives as long as the process.
    nonisolated(unsafe) private let condition: UnsafeMutablePointer<pthread_cond_t>
    private let threads = WorkerThreads(count: 1, name: "inflight-clock")
    private var queue = TimerQueue<SystemTimer>()
    private var isRunning = false

    private init() {
        unsafe condition = .allocate(capacity: 1)
        unsafe condition.initialize(to: pthread_cond_t())
        let status = unsafe inflight_condition_make(condition)
        precondition(status == 0, "cannot create a condition variable (error \(status))")
    }

    func add(_ timer: SystemTimer, at deadline: MonotonicTime) {
        mutex.lock()
        let isFirst = queue.insert(timer, at: deadline) { $0.isCancelled }
        let starts = !isRunning
        isRunning = true
        mutex.unlock()
        if starts {
            threads.run { [self] in while true { next().fire() } }
        } else if isFirst {
            unsafe pthread_cond_signal(condition)
        }
    }

    /// Waits for the next timer that is due, and returns it.
    private func next() -> SystemTimer {
        mutex.lock()
        defer { mutex.unlock() }
        while true {
            let now = SystemClock().now()
            if let timer = queue.takeDue(at: now) { return timer }
            let left = queue.earliest.map { ($0 - now).saturatedNanoseconds }
            unsafe mutex.wait(on: condition, nanoseconds: left ?? .max)
        }
    }
}

/// A binary heap of elements by deadline. Elements with the same deadline keep the order of insertion.
package struct TimerQueue<Element> {
    private var heap: [(deadline: MonotonicTime, number: UInt64, element: Element)] = []
    private var number: UInt64 = 0
    private var roomBeforeSweep = 1024

    package var earliest: MonotonicTime? { heap.first?.deadline }
    package var count: Int { heap.count }

    package init() {}

    /// Adds an element. At 1024 elements, and whenever the count has doubled since, it first removes useless ones.
    ///
    /// - Returns: Whether the element is now the earliest.
    package mutating func insert(
        _ element: Element, at deadline: MonotonicTime, sweeping isUseless: (Element) -> Bool
    ) -> Bool {
        if heap.count >= roomBeforeSweep {
            // A sorted array is a heap.
            heap = heap.filter { !isUseless($0.element) }.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
            roomBeforeSweep = max(1024, heap.count * 2)
        }
        number += 1
        heap.append((deadline, number, element))
        var child = heap.count - 1
        while child > 0, precedes(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
        return child == 0
    }

    package mutating func takeDue(at now: MonotonicTime) -> Element? {
        guard let earliest, earliest <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        let element = heap.removeLast().element
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && precedes(child, least) {
                least = child
            }
            if least == parent { return element }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private func precedes(_ first: Int, _ second: Int) -> Bool {
        (heap[first].deadline, heap[first].number) < (heap[second].deadline, heap[second].number)
    }
}
