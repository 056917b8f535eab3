/// A group of synchronous and asynchronous work, with one notification when all of it has ended, in whatever way.
///
/// ```swift
/// let group = WorkGroup(on: queue) { print("all done") }
/// for url in urls {
///     let member = group.enter()
///     load(url) { _ in member.leave() }       // releasing the closure leaves too
/// }
/// group.run { parse(file) }
/// group.seal()
/// ```
///
/// Entering and leaving cannot become unbalanced: a member leaves once, however often ``Member/leave()`` is called, and
/// at the latest when it is released.
///
/// - Thread: any. The notification runs on the callback queue, never inside a call.
/// - Order: the notification comes once, after every member has left and the group was sealed or released. So a group
///   that is briefly empty while it is being filled does not notify.
/// - Cancellation: ``cancel()`` suppresses the notification. It stops no work.
/// - Release: the closure is released on the callback queue, or inside ``cancel()``. Members retain the notification,
///   so the group itself need not be retained.
/// - Cost: about 230 ns to enter and leave, two allocations for each member.
public final class WorkGroup: Cancelling {
    /// A piece of work in a group.
    public final class Member: Sendable {
        private let core: Guarded<Core?>

        fileprivate init(_ core: Core) {
            self.core = Guarded(core)
        }

        deinit {
            leave()
        }

        /// Leaves the group when the work has ended. Only the first call counts.
        public func leave() {
            core.withLock { $0.take() }?.left()
        }
    }

    fileprivate final class Core: Sendable {
        let gate: Gate<Never, Void>
        private let machine = Guarded(GroupMachine())

        init(_ gate: Gate<Never, Void>) {
            self.gate = gate
        }

        func entered() -> Bool { machine.withLock { $0.entered() } }

        func left() {
            if machine.withLock({ $0.left() }) { gate.end(with: ()) }
        }

        func sealed() {
            if machine.withLock({ $0.sealed() }) { gate.end(with: ()) }
        }
    }

    private let core: Core

    /// Creates a group without members.
    ///
    /// - Parameters:
    ///   - queue: The callback queue on which the notification runs.
    ///   - notification: Called once, when all work has ended. It gets no results.
    public init(on queue: CallbackQueue, notification: @escaping @Sendable () -> Void) {
        core = Core(Gate(on: queue))
        core.gate.setEndHandler { _ in notification() }
    }

    deinit {
        core.sealed()
    }

    /// Returns a new member, which must leave before the notification comes.
    ///
    /// - Precondition: The group is not sealed, or still has members. Otherwise traps, in release builds too.
    public func enter() -> Member {
        if !core.entered() { fatalError("enter() on a finished group: call seal() after the last enter()") }
        return Member(core)
    }

    /// Runs synchronous work as a member, until `body` returns or throws.
    public func run<Output, Failure: Error>(_ body: () throws(Failure) -> Output) throws(Failure) -> Output {
        let member = enter()
        defer { member.leave() }
        return try body()
    }

    /// Runs asynchronous work as a member, until the task has ended.
    ///
    /// - Returns: The task, an unstructured one: neither the group nor the caller's task cancels it. It may be
    ///   discarded.
    @discardableResult
    public func task<Output: Sendable>(
        _ body: @escaping @Sendable () async throws -> Output
    ) -> Task<Output, any Error> {
        let member = enter()
        return Task {
            defer { member.leave() }
            return try await body()
        }
    }

    /// Declares that no more members will enter from outside. The notification comes once all have left. Idempotent.
    /// Releasing the group does the same.
    public func seal() {
        core.sealed()
    }

    /// Suppresses the notification. Idempotent.
    public func cancel() {
        core.gate.cancel()
    }
}
