extension CallbackQueue {
    /// Empties `box` on this queue: at once where it is current, else as work of the queue. So what a caller's closures
    /// captured dies where they would have been called. Where the queue drops the work it dies there.
    @usableFromInline
    package func release(_ box: some Emptying) {
        if isCurrent { box.empty() } else { submit { box.empty() } }
    }
}

/// Holds something until it is told to let go of it, whoever holds the box.
@usableFromInline
package protocol Emptying: AnyObject, Sendable {
    func empty()
}

@usableFromInline
package final class ReleaseBox<Content: Sendable>: Emptying {
    @usableFromInline let held: Guarded<Content?>

    @inlinable
    package init(_ content: Content) {
        held = Guarded(content)
    }

    /// What it holds still.
    package var content: Content? { held.withLock { $0 } }

    @inlinable
    package func empty() {
        let content = held.withLock { $0.take() }
        withExtendedLifetime(content) {}
    }
}

/// Work on a queue that may drop it: its release without having run says so.
// Unchecked: `ways` is touched only while the object's stripe of locks is held, or by `deinit`.
@usableFromInline package final class DroppableWork: @unchecked Sendable {
    private struct Ways {
        var run: @Sendable () -> Void
        var dropped: @Sendable () -> Void
    }

    private var ways: Ways?

    @usableFromInline
    package init(run: @escaping @Sendable () -> Void, dropped: @escaping @Sendable () -> Void) {
        ways = Ways(run: run, dropped: dropped)
    }

    @usableFromInline
    package func run() {
        let ways = LockStripes.stripe(for: self).lock.withLock { self.ways.take() }
        ways?.run()
        withExtendedLifetime(ways) {}
    }

    deinit {
        ways?.dropped()
    }
}
