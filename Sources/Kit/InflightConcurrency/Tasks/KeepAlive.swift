/// Kept alive while running: holds an object from its start to its end, so that nobody else needs to.
///
/// ```swift
/// final class Upload: Sendable {
///     private let alive: KeepAlive<Upload>
///     func start() { alive.begin(self); … }
///     private func didEnd() { alive.end() }
/// }
/// ```
///
/// - Thread: any.
/// - Order: ``end()`` before ``begin(_:)`` has no effect; the first ``end()`` after it lets go.
/// - Release: the object is let go of on the callback queue: at once where ``end()`` is called there. It dies there too,
///   with what it captured, unless somebody else holds it longer: a method of the object that calls ``end()`` on another
///   thread does so until it returns, so call it on the callback queue.
/// - Cost: one allocation, and what the queue costs once.
public final class KeepAlive<Object: AnyObject & Sendable>: Sendable {
    private let queue: CallbackQueue
    private let held = Guarded<Object?>(nil)

    public init(on queue: CallbackQueue) {
        self.queue = queue
    }

    /// Holds `object` until ``end()``.
    public func begin(_ object: Object) {
        let before = held.withLock { held in
            defer { held = object }
            return held
        }
        withExtendedLifetime(before) {}
    }

    /// Lets go. Idempotent.
    public func end() {
        guard let box = held.withLock({ $0.take().map { ReleaseBox($0) } }) else { return }
        queue.release(box)
    }

    /// Whether something is held now.
    public var isHolding: Bool { held.withLock { $0 != nil } }
}
