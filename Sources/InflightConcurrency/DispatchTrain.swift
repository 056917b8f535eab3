package import Dispatch

/// Work for dispatch queues, handed over so that a busy queue is not woken for each piece.
///
/// A thread that ends many loads in a row would wake the callback queue's thread for each of them. Here at most one block
/// of a queue is on its way: when it begins it hands over the next before it does its own piece, from the queue's own
/// thread, where that wakes nobody. A concurrent queue runs as many at once as it would otherwise; pieces begin in the
/// order in which they were added.
package enum DispatchTrain {
    private struct Waiting {
        var pieces: [(@Sendable () -> Void)?]
        var next = 0
    }

    /// What waits, for each queue that has a block on its way.
    private static let trains = Guarded([ObjectIdentifier: Waiting]())

    /// Adds a piece of work. It never runs inside this call.
    package static func add(_ piece: @escaping @Sendable () -> Void, to queue: DispatchQueue) {
        let key = ObjectIdentifier(queue)
        let begins = trains.withLock { trains in
            if trains[key] == nil {
                // The block on its way keeps the queue alive, and so its identity its own.
                trains[key] = Waiting(pieces: [piece])
                return true
            }
            trains[key]?.pieces.append(piece)
            return false
        }
        if begins { queue.async { runNext(of: queue) } }
    }

    private static func runNext(of queue: DispatchQueue) {
        let key = ObjectIdentifier(queue)
        let (piece, goesOn) = trains.withLock { trains in
            guard var waiting = trains.removeValue(forKey: key) else { return (nil as (@Sendable () -> Void)?, false) }
            let piece = waiting.pieces[waiting.next].take()
            waiting.next += 1
            if waiting.next == waiting.pieces.count { return (piece, false) }
            if waiting.next >= 1024 {
                waiting.pieces.removeFirst(waiting.next)
                waiting.next = 0
            }
            trains[key] = waiting
            return (piece, true)
        }
        if goesOn { queue.async { runNext(of: queue) } }
        piece?()
    }
}
