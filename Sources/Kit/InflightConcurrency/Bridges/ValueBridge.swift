/// A ``Bridge`` that carries a value: who opens it hands the value to the one who waits.
///
/// - Thread: any may open. The one who waits goes on where its task does; no thread is blocked.
/// - Order: the first value counts; later ones are let go of inside their call.
/// - Cancellation: it does not look at the task's; see ``Bridge/callback(isolation:_:)``, which does.
/// - The thread sanitizer sees that what came before ``open(with:)`` happened before what follows ``value()``.
public final class ValueBridge<Value: Sendable>: Sendable {
    private let bridge = Bridge()
    private let stored = Guarded<Value?>(nil)

    public init() {}

    /// - Returns: whether this was the first call.
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

    /// The value, when it has come. One caller may wait, once.
    public func value() async -> Value {
        await bridge.wait()
        guard let value = stored.withLock({ $0 }) else { preconditionFailure("a bridge opens with its value") }
        return value
    }

    /// Makes a bridge, has `start` pass it on, at once and where the caller is, and gives what it is opened with.
    ///
    /// It does not look at the task's cancellation; see ``Bridge/callback(isolation:_:)``, which does.
    public static func value(
        isolation: isolated (any Actor)? = #isolation, _ start: (ValueBridge<Value>) -> Void
    ) async -> Value {
        let bridge = ValueBridge()
        start(bridge)
        return await bridge.value()
    }
}
