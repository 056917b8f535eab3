import Dispatch
import InflightConcurrency
import Testing

@Suite("Callback queues: submission", .timeLimit(.minutes(10)))
struct CallbackQueueTests {
    @Test("Closures submitted from several threads run once, in the order each thread submitted them")
    func order() {
        let queue = DispatchQueue(label: "serial")
        let target = CallbackQueue.queue(queue)
        let seen = Guarded([Int: [Int]]())
        let done = DispatchSemaphore(value: 0)
        for adder in 0..<4 {
            DispatchQueue(label: "adder \(adder)").async {
                for number in 0..<5000 {
                    target.submit {
                        dispatchPrecondition(condition: .onQueue(queue))
                        seen.withLock { $0[adder, default: []].append(number) }
                        if number == 4999 { done.signal() }
                    }
                }
            }
        }
        for _ in 0..<4 { done.wait() }
        #expect(seen.withLock { $0 } == Dictionary(uniqueKeysWithValues: (0..<4).map { ($0, Array(0..<5000)) }))
    }

    @Test("Closures submitted to a concurrent queue run in parallel")
    func concurrent() {
        let target = CallbackQueue.queue(DispatchQueue(label: "concurrent", attributes: .concurrent))
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let done = DispatchSemaphore(value: 0)
        target.submit {
            second.signal()
            first.wait()
            done.signal()
        }
        target.submit {
            second.wait()
            first.signal()
            done.signal()
        }
        done.wait()
        done.wait()
    }

    @Test("Closures wait while their queue is suspended, and delay no other queue")
    func suspended() {
        let asleep = DispatchQueue(label: "asleep")
        asleep.suspend()
        let awake = CallbackQueue.queue(DispatchQueue(label: "awake"))
        let order = Guarded([String]())
        let done = DispatchSemaphore(value: 0)
        for name in ["a", "b"] {
            CallbackQueue.queue(asleep).submit {
                order.withLock { $0.append(name) }
                done.signal()
            }
        }
        awake.submit { done.signal() }
        done.wait()
        #expect(order.withLock { $0 }.isEmpty)
        asleep.resume()
        done.wait()
        done.wait()
        #expect(order.withLock { $0 } == ["a", "b"])
    }

    @Test("A callback queue releases the captures of a closure after running it")
    func release() {
        final class ReleaseProbe: Sendable {
            let gone: DispatchSemaphore
            init(_ gone: DispatchSemaphore) { self.gone = gone }
            deinit { gone.signal() }
        }
        let gone = DispatchSemaphore(value: 0)
        let target = CallbackQueue.queue(DispatchQueue(label: "serial"))
        for _ in 0..<3 {
            let witness = ReleaseProbe(gone)
            target.submit { withExtendedLifetime(witness) {} }
        }
        for _ in 0..<3 { gone.wait() }
    }
}
