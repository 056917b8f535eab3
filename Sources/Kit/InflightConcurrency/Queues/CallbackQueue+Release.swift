extension CallbackQueue {
    /// Empties `box` on this queue, at once if it is current. So the captures of a caller's closures are released where
    /// the closures would have been called. If the queue drops the work, it releases them at that point.
    @usableFromInline
    package func release(_ box: some Emptying) {
        if isCurrent { box.empty() } else { submit { box.empty() } }
    }
}

/// A box that can release its contents while the box itself is still retained.
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

    /// The contents, or nil after ``empty()``.
    package var content: Content? { held.withLock { $0 } }

    @inlinable
    package func empty() {
        let content = held.withLock { $0.take() }
        withExtendedLifetime(content) {}
    }
}

/// Work for a queue that may drop it. If it is released without having run, it calls `dropped`.
// Unchecked: `callbacks` is accessed only with the object's lock stripe held, or in `deinit`.
@usableFromInline package final class DroppableWork: @unchecked Sendable {
    private struct Callbacks {
        var run: @Sendable () -> Void
        var dropped: @Sendable () -> Void
    }

    private var callbacks: Callbacks?

    @usableFromInline
    package init(run: @escaping @Sendable () -> Void, dropped: @escaping @Sendable () -> Void) {
        callbacks = Callbacks(run: run, dropped: dropped)
    }

    @usableFromInline
    package func run() {
        let callbacks = LockStripes.stripe(for: self).lock.withLock { self.callbacks.take() }
        callbacks?.run()
        withExtendedLifetime(callbacks) {}
    }

    deinit {
        callbacks?.dropped()
    }
}
