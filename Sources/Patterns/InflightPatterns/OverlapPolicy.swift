/// The effect of a start while an earlier start still runs.
public enum OverlapPolicy: Hashable, Sendable, CaseIterable {
    /// Refuses the new start.
    case rejectNew
    /// Stops running work and replaces waiting starts. The new start begins when the running work has actually stopped.
    case cancelRunning
    /// Runs both.
    case concurrent
    /// Enqueues the new start: first in, first out.
    case queue
}

/// The outcome of one start.
public enum RunOutcome<Output: Sendable>: Sendable {
    /// The work ended with this output.
    case finished(Output)
    /// Another start was running, under ``OverlapPolicy/rejectNew``.
    case refused
    /// A later start replaced it, under ``OverlapPolicy/cancelRunning``.
    case replaced
    /// The work released its `end` without calling it.
    case abandoned
}

extension RunOutcome: Equatable where Output: Equatable {}
