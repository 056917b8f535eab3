import Dispatch
import InflightConcurrency
import Testing

@Suite("A run of callbacks", .timeLimit(.minutes(10)))
struct CallbackRunTests {
    /// A callback, and what it does.
    private final class Piece: Sendable {
        let work: @Sendable () -> Void

        init(_ work: @escaping @Sendable () -> Void) {
            self.work = work
        }
    }

    private func run() -> CallbackRun<Piece> { CallbackRun { $0.work() } }

    @Test("begins its callbacks in their order on their queue, and leaves none out")
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

    @Test("runs side by side on a concurrent queue: one that waits holds nobody back")
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

    @Test("lets what others handed to the queue meanwhile have its turn between two callbacks")
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

    @Test("hands over what is for one queue before it takes what is for another")
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
