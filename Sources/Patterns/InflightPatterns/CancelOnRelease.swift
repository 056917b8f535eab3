/// A wrapper that cancels work on release, for an owner that only wants the result during its own lifetime.
///
/// ```swift
/// final class Cell {
///     private var load: CancelOnRelease?
///
///     func show(_ image: String) {
///         load = CancelOnRelease(loader.load(image, on: queue) { … })     // cancels the previous load
///     }
/// }
/// ```
///
/// - Thread: may be released on any thread. ``Cancelling/cancel()`` runs there, inside the release.
/// - Cancellation: exactly once, when the wrapper is released or replaced, or by ``cancel()``.
/// - Release: the work's closures are released inside that cancel, as with every `cancel()` here.
/// - Cost: none beyond the reference to the work.
public struct CancelOnRelease: ~Copyable, Sendable {
    private let work: any Cancelling

    /// Creates a wrapper that cancels `work` when it is released.
    public init(_ work: some Cancelling) {
        self.work = work
    }

    deinit {
        work.cancel()
    }

    /// Cancels the work now instead of on release.
    public consuming func cancel() {}
}
