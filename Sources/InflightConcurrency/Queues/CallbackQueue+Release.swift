extension CallbackQueue {
    /// Empties `box` on this queue: at once where it is current, else as work of the queue. So what a caller's closures
    /// captured dies where they would have been called. Where the queue drops the work it dies there.
    package func release(_ box: some Emptying) {
        if isCurrent { box.empty() } else { submit { box.empty() } }
    }
}

/// Holds something until it is told to let go of it, whoever holds the box.
package protocol Emptying: AnyObject, Sendable {
    func empty()
}

package final class ReleaseBox<Content: Sendable>: Emptying {
    private let held: Guarded<Content?>

    package init(_ content: Content) {
        held = Guarded(content)
    }

    /// What it holds still.
    package var content: Content? { held.withLock { $0 } }

    package func empty() {
        _ = held.withLock { $0.take() }
    }
}

/// Work on a queue that may drop it: its release without having run says so.
package final class DroppableWork: Sendable {
    private struct Ways: Sendable {
        var run: @Sendable () -> Void
        var dropped: @Sendable () -> Void
    }

    private let ways: Guarded<Ways?>

    package init(run: @escaping @Sendable () -> Void, dropped: @escaping @Sendable () -> Void) {
        ways = Guarded(Ways(run: run, dropped: dropped))
    }

    package func run() {
        ways.withLock { $0.take() }?.run()
    }

    deinit {
        ways.withLock { $0.take() }?.dropped()
    }
}
