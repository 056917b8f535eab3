/// The effect of a start while an earlier start still runs.
public enum StartPolicy: Hashable, Sendable, CaseIterable {
    /// Refuses the new start.
    case firstWins
    /// Stops running work and replaces waiting starts. The new start begins when the running work has actually stopped.
    case lastWins
    /// Runs both.
    case both
    /// Enqueues the new start: first in, first out.
    case queued
}

/// The outcome of one start.
public enum StartOutcome<Output: Sendable>: Sendable {
    /// The work ended with this output.
    case finished(Output)
    /// Another start was running, under ``StartPolicy/firstWins``.
    case refused
    /// A later start replaced it, under ``StartPolicy/lastWins``.
    case replaced
    /// The work released its `end` without calling it.
    case abandoned
}

extension StartOutcome: Equatable where Output: Equatable {}
