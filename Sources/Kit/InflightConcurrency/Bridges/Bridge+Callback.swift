/// Why a callback gave no value.
public enum CallbackFailure: Error, Sendable, Hashable {
    /// The task that waited was cancelled, and the work was told.
    case cancelled
    /// Everybody who could have called back let go of the answer without doing so.
    case dropped
}

/// What a callback is to call, once. Its release without a call ends the waiting with ``CallbackFailure/dropped``, so
/// that nobody waits for ever.
public final class CallbackAnswer<Value: Sendable>: Sendable {
    private let bridge: ValueBridge<Result<Value, CallbackFailure>>

    fileprivate init(_ bridge: ValueBridge<Result<Value, CallbackFailure>>) {
        self.bridge = bridge
    }

    deinit {
        bridge.open(with: .failure(.dropped))
    }

    /// The first call counts. Any thread.
    public func callAsFunction(_ value: Value) {
        bridge.open(with: .success(value))
    }
}

extension Bridge {
    /// From callbacks to `async`: starts work that calls back, and waits for what it says.
    ///
    /// ```swift
    /// let size = try await Bridge.callback { answer in
    ///     measure(file, on: queue) { answer($0) }      // gives something that can be cancelled, or nil
    /// }
    /// ```
    ///
    /// - Thread: `start` runs at once, where the caller is; the answer may come from any thread, also inside `start`.
    /// - Cancellation: where the task is cancelled, the work's `cancel()` is called, on the thread that cancels, and the
    ///   waiting ends then, whatever the work does. Where it was cancelled before, `start` is not called.
    /// - Release: what `start` gives is kept alive while it is waited for.
    /// - Errors: ``CallbackFailure``.
    public static func callback<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ start: (CallbackAnswer<Value>) -> (any Cancelling)?
    ) async throws(CallbackFailure) -> Value {
        let bridge = ValueBridge<Result<Value, CallbackFailure>>()
        return try await CancellationToken.withTask { (token) async -> Result<Value, CallbackFailure> in
            if token.isCancelled { return .failure(.cancelled) }
            let work = start(CallbackAnswer(bridge))
            token.onCancel {
                // First the answer: the work may let go of its callback when it is cancelled, which is no drop.
                bridge.open(with: .failure(.cancelled))
                work?.cancel()
            }
            return await bridge.value()
        }.get()
    }
}
