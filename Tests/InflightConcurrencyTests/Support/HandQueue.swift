import InflightConcurrency

/// A callback queue that the test moves by hand; serial.
final class HandQueue: CallbackExecutor {
    private struct State {
        var work: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let state = Guarded(State())

    var callbackQueue: CallbackQueue { .executor(self) }
    var isCurrent: Bool { state.withLock { $0.isRunning } }
    var count: Int { state.withLock { $0.work.count } }

    func submit(_ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.work.append(work) }
    }

    @discardableResult
    func runNext() -> Bool {
        let next = state.withLock { state -> (@Sendable () -> Void)? in
            state.isRunning = !state.work.isEmpty
            return state.work.isEmpty ? nil : state.work.removeFirst()
        }
        next?()
        state.withLock { $0.isRunning = false }
        return next != nil
    }

    func runAll() {
        while runNext() {}
    }

    /// As a queue does whose owner cancels everything on it.
    func dropAll() {
        _ = state.withLock { state in
            defer { state.work = [] }
            return state.work
        }
    }
}
