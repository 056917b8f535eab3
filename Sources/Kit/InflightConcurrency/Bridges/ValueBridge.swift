/// A ``Bridge`` that passes a value to the waiting caller.
///
/// - Thread: any thread may open. The waiting caller resumes where its task runs. No thread is blocked.
/// - Order: only the first value counts. Later values are released inside their call.
/// - Cancellation: it ignores that of the task. `Bridge.callback` of `InflightPatterns` observes it.
/// - The thread sanitizer sees that code before ``open(with:)`` happens before code after ``value()``.
public final class ValueBridge<Value: Sendable>: Sendable {
    private let bridge = Bridge()
    private let stored = Guarded<Value?>(nil)

    /// Creates a closed bridge without a value.
    public init() {}

    /// Opens the bridge with a value and resumes the waiting caller. Only the first call counts. Any thread.
    ///
    /// - Returns: Whether this was the first call.
    @discardableResult
    public func open(with value: Value) -> Bool {
        let isFirst = stored.withLock { stored in
            if stored != nil { return false }
            stored = value
            return true
        }
        if isFirst { bridge.open() }
        return isFirst
    }

    /// Returns the value once the bridge is open. Only one caller may wait, once.
    public func value() async -> Value {
        await bridge.wait()
        guard let value = stored.withLock({ $0 }) else { preconditionFailure("a bridge was opened without a value") }
        return value
    }

    /// Calls `start` with a new bridge, at once in the caller's isolation, and returns the value that opens it.
    ///
    /// It ignores the cancellation of the task. `Bridge.callback` of `InflightPatterns` observes it.
    public static func value(
        isolation: isolated (any Actor)? = #isolation, _ start: (ValueBridge<Value>) -> Void
    ) async -> Value {
        let bridge = ValueBridge()
        start(bridge)
        return await bridge.value()
    }
}
