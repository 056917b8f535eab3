internal import InflightConcurrency

/// How short memory is.
enum MemoryPressure: Sendable, Hashable {
    /// Some work waits for memory.
    case some
    /// Nothing gets on for want of memory.
    case full

    /// The share of its limit that a cache keeps: one part in so many.
    var divisor: Int { self == .some ? 2 : 8 }
}

/// Tells its subscribers when the kernel reports that memory is short. One thread for all of them, which is there
/// while somebody listens, and only where the kernel lets itself be asked.
final class MemoryPressureMonitor: Sendable {
    static let shared = MemoryPressureMonitor(open: MemoryPressureTriggers.openAll)

    private struct State: Sendable {
        var subscribers: [Int: @Sendable (MemoryPressure) -> Void] = [:]
        var nextIdentifier = 0
        var watch: MemoryPressureWatch?
        /// Asked once: what the kernel does not offer now it will not offer later.
        var isUnavailable = false
    }

    private let state = Guarded(State())
    private let open: @Sendable () -> [MemoryPressureTriggers.Trigger]

    /// - Parameter open: gives descriptors that are ready to be polled for urgent data (`POLLPRI`) when memory is
    ///   short, to be closed by the monitor.
    init(open: @escaping @Sendable () -> [MemoryPressureTriggers.Trigger]) {
        self.open = open
    }

    /// Calls `body` on the monitor's thread until the subscription is released. `body` must not block.
    func subscribe(_ body: @escaping @Sendable (MemoryPressure) -> Void) -> Subscription {
        let identifier = state.withLock { state in
            state.nextIdentifier += 1
            state.subscribers[state.nextIdentifier] = body
            if state.watch == nil, !state.isUnavailable {
                // The watch holds the subscribers, not the monitor: it is let go of with the last of them.
                state.watch = MemoryPressureWatch(triggers: open()) { [subscribers = self.state] pressure in
                    Self.report(pressure, to: subscribers)
                }
                state.isUnavailable = state.watch == nil
            }
            return state.nextIdentifier
        }
        return Subscription(monitor: self, identifier: identifier)
    }

    /// Whether the kernel is being watched.
    var isWatching: Bool { state.withLock { $0.watch != nil } }

    private static func report(_ pressure: MemoryPressure, to state: Guarded<State>) {
        let subscribers = state.withLock { Array($0.subscribers.values) }
        for body in subscribers { body(pressure) }
    }

    private func unsubscribe(_ identifier: Int) {
        // Both are released after the lock: a closure may hold anything.
        let released = state.withLock { state in
            let body = state.subscribers.removeValue(forKey: identifier)
            guard state.subscribers.isEmpty else { return (body, nil as MemoryPressureWatch?) }
            defer { state.watch = nil }
            return (body, state.watch)
        }
        released.1?.stop()
    }

    /// Ends when it is released. A call that is under way then may still finish.
    final class Subscription: Sendable {
        private let monitor: MemoryPressureMonitor
        private let identifier: Int

        fileprivate init(monitor: MemoryPressureMonitor, identifier: Int) {
            self.monitor = monitor
            self.identifier = identifier
        }

        deinit {
            monitor.unsubscribe(identifier)
        }
    }
}
