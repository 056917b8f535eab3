/// Retains an object from its start to its end, so that no other code needs to.
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
/// - Order: ``end()`` before ``begin(_:)`` has no effect. The first ``end()`` after it releases the object.
/// - Release: ``end()`` releases the object on the callback queue, at once if called there. The object and its captures
///   are then deallocated there, unless another reference outlives this one. If a method of the object calls ``end()``
///   on another thread, it retains the object until it returns, so call ``end()`` on the callback queue.
/// - Cost: one allocation, and one submission to the queue.
public final class KeepAlive<Object: AnyObject & Sendable>: Sendable {
    private let queue: CallbackQueue
    private let held = Guarded<Object?>(nil)

    /// Creates an instance that retains nothing yet.
    ///
    /// - Parameter queue: The callback queue on which the object is released.
    public init(on queue: CallbackQueue) {
        self.queue = queue
    }

    /// Retains `object` until ``end()``. An object that was retained before is released inside this call.
    public func begin(_ object: Object) {
        let before = held.withLock { held in
            defer { held = object }
            return held
        }
        withExtendedLifetime(before) {}
    }

    /// Releases the object. Idempotent.
    public func end() {
        guard let box = held.withLock({ $0.take().map { ReleaseBox($0) } }) else { return }
        queue.release(box)
    }

    /// Whether an object is retained now.
    public var isHolding: Bool { held.withLock { $0 != nil } }
}
