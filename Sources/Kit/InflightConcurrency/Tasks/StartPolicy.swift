/// What a start does while what was started before still runs.
public enum StartPolicy: Hashable, Sendable, CaseIterable {
    /// The newcomer is refused.
    case firstWins
    /// What runs is stopped and what waits is replaced; the newcomer begins when the other has in fact stopped.
    case lastWins
    /// Both run.
    case both
    /// The newcomer waits its turn: first in, first out.
    case queued
}

/// How one start ended.
public enum StartOutcome<Output: Sendable>: Sendable {
    case finished(Output)
    /// Something ran already, and the first wins.
    case refused
    /// Somebody else was started, and the last wins.
    case replaced
    /// The work let go of its ending without having told it.
    case abandoned
}

extension StartOutcome: Equatable where Output: Equatable {}
