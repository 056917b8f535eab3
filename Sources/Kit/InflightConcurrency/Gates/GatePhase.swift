/// How far a gate has come.
public enum GatePhase: Sendable {
    /// Events may still come, and it may still be cancelled.
    case waiting
    /// The ending has passed: its handler runs, or is about to. Too late to cancel.
    case delivering
    /// The ending was told, or the queue dropped it.
    case ended
    /// Cancelled before the ending passed.
    case cancelled
}
