/// The reason why a callback delivered no value.
public enum CallbackFailure: Error, Sendable, Hashable {
    /// The waiting task was cancelled, and the work with it if it had started.
    case cancelled
    /// Every reference to the ``CallbackAnswer`` was released without a call.
    case dropped
}

/// The function that a callback calls once, with its value.
///
/// If it is released without a call, the wait ends with ``CallbackFailure/dropped``, so that no caller waits forever.
public final class CallbackAnswer<Value: Sendable>: Sendable {
    private let bridge: ValueBridge<Result<Value, CallbackFailure>>

    fileprivate init(_ bridge: ValueBridge<Result<Value, CallbackFailure>>) {
        self.bridge = bridge
    }

    deinit {
        bridge.open(with: .failure(.dropped))
    }

    /// Delivers the value. Only the first call counts. Any thread.
    public func callAsFunction(_ value: Value) {
        bridge.open(with: .success(value))
    }
}

extension Bridge {
    /// Starts callback-based work and waits for its value.
    ///
    /// ```swift
    /// let size = try await Bridge.callback { answer in
    ///     measure(file, on: queue) { answer($0) }      // returns a `Cancelling`, or nil
    /// }
    /// ```
    ///
    /// - Thread: `start` runs at once in the caller's isolation. Any thread may call `answer`, even inside `start`.
    /// - Cancellation: if the task is cancelled, the work's `cancel()` is called on the cancelling thread, and the wait
    ///   ends then, whatever the work does. If the task was already cancelled, `start` is not called.
    /// - Release: the work that `start` returns is retained during the wait.
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
                // Open the bridge first: the work may release its callback when it is cancelled, and that must not
                // count as dropped.
                bridge.open(with: .failure(.cancelled))
                work?.cancel()
            }
            return await bridge.value()
        }.get()
    }
}
