/// A value that is made once for all callers, and again after it was found invalid, such as a token or a session.
///
/// ```swift
/// let token = SharedValue { try await fetchToken() }
/// configuration.willSend = { request in
///     if case .unauthorized(_, let sent) = request.reason { token.forget(sent["Authorization"] ?? "") }
///     request.fields.set("Authorization", try await token.value())
/// }
/// ```
///
/// - Thread: any. The value is made in its own task, on the given executor, with no lock held.
/// - Failure: all waiting callers get the error, and the next call makes the value again.
/// - Cancellation: a cancelled caller stops waiting at once. The last waiting caller to leave cancels the making.
public final class SharedValue<Value: Sendable>: Sendable {
    /// One attempt to make the value, and its waiting callers.
    // Unchecked: its properties are accessed only with the value's lock held.
    fileprivate final class Creation: @unchecked Sendable {
        var task: Task<Void, Never>?
        var waiters: [Bridge] = []
        var waiting = 0
        var isAbandoned = false
        var result: Result<Value, any Error>?
    }

    fileprivate enum Phase {
        case empty
        case making(Creation)
        case made(Value, by: Creation)
    }

    fileprivate let phase = Guarded(Phase.empty)
    fileprivate let executor: (any TaskExecutor)?
    fileprivate let make: @Sendable () async throws -> Value

    /// Creates a shared value, which is made by the first call of ``value()``.
    ///
    /// - Parameters:
    ///   - executor: The executor on which the value is made. If nil, the default for tasks.
    ///   - make: Makes the value. After a failure or ``forget()`` it is called again. A cancelled attempt that does not
    ///     stop may overlap with the next one; its result is ignored.
    public init(on executor: (any TaskExecutor)? = nil, _ make: @escaping @Sendable () async throws -> Value) {
        self.executor = executor
        self.make = make
    }

    /// Returns the value, at once if it has been made, otherwise as soon as it is.
    ///
    /// - Throws: The error from making it, or `CancellationError` if the caller's task is cancelled first.
    public func value() async throws -> Value {
        let bridge = Bridge()
        let (made, making, isFirst) = phase.withLock { phase -> (Value?, Creation?, Bool) in
            switch phase {
            case .made(let value, _): return (value, nil, false)
            case .making(let making):
                making.waiters.append(bridge)
                making.waiting += 1
                return (nil, making, false)
            case .empty:
                let making = Creation()
                making.waiters.append(bridge)
                making.waiting = 1
                phase = .making(making)
                return (nil, making, true)
            }
        }
        if let made { return made }
        guard let making else { preconditionFailure("the value has neither been created nor is being created") }
        if isFirst { begin(making) }
        await withTaskCancellationHandler {
            await bridge.wait()
        } onCancel: {
            bridge.open()
        }
        let (result, abandoned) = phase.withLock { phase in
            making.waiting -= 1
            guard making.result == nil, making.waiting == 0 else { return (making.result, nil as Task<Void, Never>?) }
            if case .making(let current) = phase, current === making { phase = .empty }
            making.isAbandoned = true
            return (nil, making.task)
        }
        abandoned?.cancel()
        guard let result else { throw CancellationError() }
        return try result.get()
    }

    /// Discards the value, so that the next ``value()`` makes it anew. No effect while the value is being made: waiting
    /// callers get that one. Idempotent; any thread.
    public func forget() {
        let old = phase.withLock { phase -> Value? in
            guard case .made(let value, _) = phase else { return nil }
            phase = .empty
            return value
        }
        // Release the value with no lock held, because that may run foreign code.
        withExtendedLifetime(old) {}
    }
}

extension SharedValue where Value: Equatable {
    /// Discards the value as ``forget()`` does, if it still is `stale`. If many callers found it invalid, only the
    /// first discards it. Values are compared with no lock held.
    public func forget(_ stale: Value) {
        guard case .made(let value, let making) = phase.withLock({ $0 }), value == stale else { return }
        phase.withLock { phase in
            if case .made(_, let current) = phase, current === making { phase = .empty }
        }
    }
}

extension SharedValue {
    private func begin(_ making: Creation) {
        let task = Task(executorPreference: executor) { [make] in
            let result: Result<Value, any Error>
            do {
                result = .success(try await make())
            } catch {
                result = .failure(error)
            }
            self.end(making, with: result)
        }
        let isAbandoned = phase.withLock { _ in
            making.task = task
            return making.isAbandoned
        }
        if isAbandoned { task.cancel() }
    }

    private func end(_ making: Creation, with result: Result<Value, any Error>) {
        let waiters = phase.withLock { phase in
            making.result = result
            if case .making(let current) = phase, current === making {
                if case .success(let value) = result { phase = .made(value, by: making) } else { phase = .empty }
            }
            defer { making.waiters = [] }
            return making.waiters
        }
        for waiter in waiters { waiter.open() }
    }
}
