/// Released means cancelled: holds work for somebody who wants its result only as long as he lives.
///
/// ```swift
/// final class Cell {
///     private var load: CancelOnRelease?
///
///     func show(_ picture: String) {
///         load = CancelOnRelease(loader.load(picture, on: queue) { … })     // the one before is cancelled
///     }
/// }
/// ```
///
/// - Thread: may be released on any; ``Cancelling/cancel()`` runs there, inside the release.
/// - Cancellation: exactly once, when it is released, replaced, or told.
/// - Release: the work's closures die inside that cancel, as with every `cancel()` here.
/// - Cost: none over the reference to the work.
public struct CancelOnRelease: ~Copyable, Sendable {
    private let work: any Cancelling

    public init(_ work: some Cancelling) {
        self.work = work
    }

    deinit {
        work.cancel()
    }

    /// Now instead of later.
    public consuming func cancel() {}
}
