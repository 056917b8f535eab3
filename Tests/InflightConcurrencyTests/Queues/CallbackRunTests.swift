import Dispatch
import InflightConcurrency
import Testing

@Suite("Callback runs", .timeLimit(.minutes(10)))
struct CallbackRunTests {
    /// A callback with its closure.
    private final class Piece: Sendable {
        let work: @Sendable () -> Void

        init(_ work: @escaping @Sendable () -> Void) {
            self.work = work
        }
    }

    private func run() -> CallbackRun<Piece> { CallbackRun { $0.work() } }

    @Test("A callback run executes each callback once, in order, on its queue")
    func order() {
        let queue = DispatchQueue(label: "serial")
        let seen = Guarded([Int]())
        let done = DispatchSemaphore(value: 0)
        var run = run()
        for number in 0..<100 {
            let piece = Piece {
                dispatchPrecondition(condition: .onQueue(queue))
                seen.withLock { $0.append(number) }
                done.signal()
            }
            run.append(piece, for: .queue(queue))
        }
        #expect(seen.withLock { $0 }.isEmpty)
        run.submit()
        for _ in 0..<100 { done.wait() }
        #expect(seen.withLock { $0 } == Array(0..<100))
        run.submit()
        queue.sync {}
        #expect(seen.withLock { $0.count } == 100)
    }

    @Test("Callbacks of one run execute in parallel on a concurrent queue")
    func concurrent() {
        let queue = CallbackQueue.queue(DispatchQueue(label: "concurrent", attributes: .concurrent))
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let done = DispatchSemaphore(value: 0)
        var run = run()
        run.append(
            Piece {
                second.signal()
                first.wait()
                done.signal()
            }, for: queue)
        run.append(
            Piece {
                second.wait()
                first.signal()
                done.signal()
            }, for: queue)
        run.submit()
        done.wait()
        done.wait()
    }

    @Test("Closures that other callers submit during a run are run between its callbacks")
    func others() {
        let queue = DispatchQueue(label: "serial")
        let seen = Guarded([String]())
        queue.suspend()
        var run = run()
        for name in ["first", "second"] {
            run.append(Piece { seen.withLock { $0.append(name) } }, for: .queue(queue))
        }
        run.submit()
        let done = DispatchSemaphore(value: 0)
        queue.async {
            seen.withLock { $0.append("another's") }
            queue.async { done.signal() }
        }
        queue.resume()
        done.wait()
        #expect(seen.withLock { $0 } == ["first", "another's", "second"])
    }

    @Test("A suspended queue in a callback run does not delay the callbacks of another queue")
    func twoQueues() {
        let asleep = DispatchQueue(label: "asleep")
        let awake = DispatchQueue(label: "awake")
        asleep.suspend()
        let seen = Guarded([String]())
        let done = DispatchSemaphore(value: 0)
        var run = run()
        for (name, queue) in [("a", asleep), ("b", awake), ("c", asleep)] {
            let piece = Piece {
                seen.withLock { $0.append(name) }
                done.signal()
            }
            run.append(piece, for: .queue(queue))
        }
        run.submit()
        done.wait()
        #expect(seen.withLock { $0 } == ["b"])
        asleep.resume()
        done.wait()
        done.wait()
        #expect(seen.withLock { $0 } == ["b", "a", "c"])
    }
}
