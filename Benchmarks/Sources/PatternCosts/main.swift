// Measures the patterns of `InflightPatterns` beside a bare lock, `DispatchQueue`, `OperationQueue` and an actor:
// CPU time of the whole process in nanoseconds, and allocations.
//
//     swift run -c release --package-path Benchmarks PatternCosts

import Dispatch
import Foundation
import InflightPatterns

/// Waits until `body` calls its parameter.
func wait(_ body: (@escaping @Sendable () -> Void) -> Void) {
    let done = DispatchSemaphore(value: 0)
    body { done.signal() }
    done.wait()
}

func require(_ condition: Bool) {
    if !condition { fatalError("the measured operation returned a wrong result") }
}

func locks(_ count: Int) {
    let bare = Lock()
    let (guarded, byQueue) = (Guarded(0), QueueGuarded(0))
    let queue = DispatchQueue(label: "serial")
    measure("bare lock", count) { for _ in 0..<count { bare.withLock {} } }
    measure("Guarded.write", count) { for _ in 0..<count { guarded.write { $0 += 1 } } }
    measure("DispatchQueue.sync", count) { for _ in 0..<count { queue.sync {} } }
    measure("QueueGuarded.read", count) { for _ in 0..<count { byQueue.read { _ in } } }
    measure("QueueGuarded.write", count) { for _ in 0..<count { byQueue.write { $0 += 1 } } }
    measure("QueueGuarded.writeLater", count) {
        for _ in 0..<count { byQueue.writeLater { $0 += 1 } }
        byQueue.read { _ in }
    }
    measure("Guarded.read, two threads at once", count) {
        DispatchQueue.concurrentPerform(iterations: 2) { _ in for _ in 0..<count / 2 { guarded.read { _ in } } }
    }
    measure("QueueGuarded.read, two threads at once", count) {
        DispatchQueue.concurrentPerform(iterations: 2) { _ in for _ in 0..<count / 2 { byQueue.read { _ in } } }
    }
}

final class Counter: Confined {
    let confinement: CallbackQueue
    var count = 0

    init(on queue: CallbackQueue) { confinement = queue }
}

func confinement(_ count: Int) {
    let domain = IsolationDomain("domain")
    let isolated = Isolated(0, in: domain)
    measure("IsolationDomain.enter", count) { for _ in 0..<count { domain.enter { _ in } } }
    domain.enter { _ in measure("Isolated.value", count) { for _ in 0..<count { isolated.value += 1 } } }

    let queue = DispatchQueue(label: "serial")
    let here = CallbackQueue.queue(queue)
    queue.sync {
        measure("CallbackQueue.isCurrent", count) { for _ in 0..<count { require(here.isCurrent) } }
        let counter = Counter(on: here)
        let callback = counter.callback { counter in counter.count += 1 }
        measure("callback of a Confined object", count) { for _ in 0..<count { callback() } }
    }
}

func cancellation(_ count: Int) {
    let (flag, token) = (CancellationFlag(), CancellationToken())
    let child = token.makeChild()
    measure("CancellationFlag.isCancelled", count) { for _ in 0..<count { require(!flag.isCancelled) } }
    measure("CancellationToken.isCancelled", count) { for _ in 0..<count { require(!token.isCancelled) } }
    measure("the same of a child", count) { for _ in 0..<count { require(!child.isCancelled) } }
    measure("CancellationToken.onCancel, remove", count) { for _ in 0..<count { token.onCancel {}.remove() } }
}

func callbacks(_ count: Int) {
    let queue = DispatchQueue(label: "serial")
    let here = CallbackQueue.queue(queue)
    measure("DispatchQueue.async", count) {
        wait { done in for index in 1...count { queue.async { if index == count { done() } } } }
    }
    measure("Gate: an event", count) {
        wait { done in
            let gate = Gate<Int, Void>(on: here)
            gate.setEventHandler { _ in }
            gate.setEndHandler { done() }
            for index in 1...count { gate.send(index) }
            gate.end(with: ())
        }
    }
    measure("Gate: made, ended, let go of", count) {
        wait { done in
            for index in 1...count {
                let gate = Gate<Never, Void>(on: here)
                gate.setEndHandler { if index == count { done() } }
                gate.end(with: ())
            }
        }
    }
    let operations = OperationQueue()
    operations.maxConcurrentOperationCount = 1
    measure("OperationQueue.addOperation", count) {
        wait { done in for index in 1...count { operations.addOperation { if index == count { done() } } } }
    }
}

func work(_ count: Int) {
    let here = CallbackQueue.queue(DispatchQueue(label: "serial"))
    measure("WorkGroup: enter, leave", count) {
        wait { done in
            let group = WorkGroup(on: here, notification: done)
            for _ in 0..<count { group.enter().leave() }
        }
    }
    let lane = WorkLane<Int>(.init(limit: 2))
    measure("WorkLane: in, its turn, out", count) {
        for _ in 0..<count { lane.add(level: 2, group: 1) { $0.release() } }
    }
    let starter = TaskRunner<Int, Int>(.queue, on: here) { input, _, end in end(input) }
    measure("TaskRunner: a start, its outcome", count) {
        wait { done in for index in 1...count { starter.start(index) { _ in if index == count { done() } } } }
    }
}

actor Tally {
    var count = 0
    func increment() { count += 1 }
}

func actorHop(_ count: Int) async {
    let tally = Tally()
    await CostMeasurement.measure("actor: a hop there and back", count) {
        for _ in 0..<count { await tally.increment() }
    }
}

let count = 100_000
locks(count)
await actorHop(count)
confinement(count)
cancellation(count)
callbacks(count / 4)
work(count / 4)
