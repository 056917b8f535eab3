internal import InflightConcurrency

/// The level of memory pressure.
enum MemoryPressure: Sendable, Hashable {
    /// Some work waits for memory.
    case some
    /// No work makes progress, for lack of memory.
    case full

    /// The divisor of a cache's limit at this level.
    var divisor: Int { self == .some ? 2 : 8 }
}

/// Notifies subscribers when the kernel reports that memory is short. One thread serves all of them. It exists only
/// while there are subscribers, and only if the kernel allows watching.
final class MemoryPressureMonitor: Sendable {
    static let shared = MemoryPressureMonitor(open: MemoryPressureTriggers.openAll)

    private struct State: Sendable {
        var subscribers: [Int: @Sendable (MemoryPressure) -> Void] = [:]
        var nextIdentifier = 0
        var watch: MemoryPressureWatch?
        /// Whether opening has failed. Tried once: if the kernel does not offer it now, it will not later.
        var isUnavailable = false
    }

    private let state = Guarded(State())
    private let open: @Sendable () -> [MemoryPressureTriggers.Trigger]

    /// - Parameter open: returns descriptors to be polled for urgent data (`POLLPRI`), which signals that memory is
    ///   short. The monitor closes them.
    init(open: @escaping @Sendable () -> [MemoryPressureTriggers.Trigger]) {
        self.open = open
    }

    /// Calls `body` on the monitor's thread until the subscription is released. `body` must not block.
    func subscribe(_ body: @escaping @Sendable (MemoryPressure) -> Void) -> Subscription {
        let identifier = state.withLock { state in
            state.nextIdentifier += 1
            state.subscribers[state.nextIdentifier] = body
            if state.watch == nil, !state.isUnavailable {
                // The watch retains the subscribers, not the monitor, so it can be released with the last of them.
                state.watch = MemoryPressureWatch(triggers: open()) { [subscribers = self.state] pressure in
                    Self.report(pressure, to: subscribers)
                }
                state.isUnavailable = state.watch == nil
            }
            return state.nextIdentifier
        }
        return Subscription(monitor: self, identifier: identifier)
    }

    /// Whether a thread watches the kernel's reports.
    var isWatching: Bool { state.withLock { $0.watch != nil } }

    private static func report(_ pressure: MemoryPressure, to state: Guarded<State>) {
        let subscribers = state.withLock { Array($0.subscribers.values) }
        for body in subscribers { body(pressure) }
    }

    private func unsubscribe(_ identifier: Int) {
        // Both are released after the lock, because a closure may retain anything.
        let released = state.withLock { state in
            let body = state.subscribers.removeValue(forKey: identifier)
            guard state.subscribers.isEmpty else { return (body, nil as MemoryPressureWatch?) }
            defer { state.watch = nil }
            return (body, state.watch)
        }
        released.1?.stop()
    }

    /// A subscription that ends when it is released. A call that is running then may still finish.
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
