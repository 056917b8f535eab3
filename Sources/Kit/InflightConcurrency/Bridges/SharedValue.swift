/// A value that is made once for everybody who asks for it, and again when it is said to be no good any more: a token, a
/// session, a list from a server.
///
/// ```swift
/// let token = SharedValue { try await fetchToken() }
/// configuration.willSend = { request in
///     if case .unauthorized(_, let sent) = request.reason { token.forget(sent["Authorization"] ?? "") }
///     request.fields.set("Authorization", try await token.value())
/// }
/// ```
///
/// - Thread: any. What makes the value runs in a task of its own, on the executor that is named, with no lock held.
/// - Failure: who waits is told the error, and the next who asks has it made again.
/// - Cancellation: who is cancelled stops waiting at once. The last one to leave cancels the making.
public final class SharedValue<Value: Sendable>: Sendable {
    /// One making of the value, and who waits for it.
    // Unchecked: everything in it is touched only while the value's lock is held.
    fileprivate final class Making: @unchecked Sendable {
        var task: Task<Void, Never>?
        var waiters: [Bridge] = []
        var waiting = 0
        var isAbandoned = false
        var result: Result<Value, any Error>?
    }

    fileprivate enum Phase {
        case empty
        case making(Making)
        case made(Value, by: Making)
    }

    fileprivate let phase = Guarded(Phase.empty)
    fileprivate let executor: (any TaskExecutor)?
    fileprivate let make: @Sendable () async throws -> Value

    /// - Parameter executor: where the value is made; `nil`: where tasks without an executor run.
    public init(on executor: (any TaskExecutor)? = nil, _ make: @escaping @Sendable () async throws -> Value) {
        self.executor = executor
        self.make = make
    }

    /// The value: at once where it was made, or when it is.
    ///
    /// Throws what making it threw, or `CancellationError` where the caller's task is cancelled before.
    public func value() async throws -> Value {
        let bridge = Bridge()
        let (made, making, isFirst) = phase.withLock { phase -> (Value?, Making?, Bool) in
            switch phase {
            case .made(let value, _): return (value, nil, false)
            case .making(let making):
                making.waiters.append(bridge)
                making.waiting += 1
                return (nil, making, false)
            case .empty:
                let making = Making()
                making.waiters.append(bridge)
                making.waiting = 1
                phase = .making(making)
                return (nil, making, true)
            }
        }
        if let made { return made }
        guard let making else { preconditionFailure("a value is neither made nor being made") }
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

    /// The next who asks has it made again; who waits now gets what is being made. Idempotent; any thread.
    public func forget() {
        let old = phase.withLock { phase -> Value? in
            guard case .made(let value, _) = phase else { return nil }
            phase = .empty
            return value
        }
        // Its release may run code of its own: with no lock held.
        withExtendedLifetime(old) {}
    }
}

extension SharedValue where Value: Equatable {
    /// As ``forget()``, where the value is still `stale`: of many who found it to be no good, the first alone has it made
    /// again. Values are compared with no lock held.
    public func forget(_ stale: Value) {
        guard case .made(let value, let making) = phase.withLock({ $0 }), value == stale else { return }
        phase.withLock { phase in
            if case .made(_, let current) = phase, current === making { phase = .empty }
        }
    }
}

extension SharedValue {
    private func begin(_ making: Making) {
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

    private func end(_ making: Making, with result: Result<Value, any Error>) {
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
