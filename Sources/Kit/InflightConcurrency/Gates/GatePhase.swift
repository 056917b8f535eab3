/// The phase of a gate.
public enum GatePhase: Sendable {
    /// Events may still pass, and the gate may still be cancelled.
    case waiting
    /// The ending has passed. Its handler runs or is about to run. Too late to cancel.
    case delivering
    /// The ending was delivered, or the queue dropped it.
    case ended
    /// Cancelled before the ending passed.
    case cancelled
}
