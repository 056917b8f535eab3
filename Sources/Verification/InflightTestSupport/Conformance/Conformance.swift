/// A check of a conformance suite. The set is open, and each suite has its own list.
public struct ConformanceCheck: Sendable, Hashable, CustomStringConvertible {
    /// The rule that is checked, as a sentence.
    public let description: String
}

/// A violation that a check has found.
public struct ConformanceFailure: Sendable, Hashable, CustomStringConvertible {
    /// The check whose rule was violated.
    public var check: ConformanceCheck
    /// The observation that contradicts the rule.
    public var observation: String

    /// The rule, and the observation that contradicts it.
    public var description: String { "\(check): \(observation)" }
}

/// Checks with the bodies that perform them on a `Bench`.
struct CheckList<Bench>: Sendable {
    typealias Body = @Sendable (Bench) async throws -> Void

    let checks: [ConformanceCheck]
    private let bodies: [ConformanceCheck: Body]

    init(_ bodies: [(String, Body)]) {
        checks = bodies.map { ConformanceCheck(description: $0.0) }
        self.bodies = Dictionary(uniqueKeysWithValues: zip(checks, bodies.map(\.1)))
    }

    func body(of check: ConformanceCheck) -> Body {
        guard let body = bodies[check] else { preconditionFailure("this is another suite's check: \(check)") }
        return body
    }
}
