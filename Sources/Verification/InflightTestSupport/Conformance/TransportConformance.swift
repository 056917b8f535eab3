public import InflightCore

/// Checks that any ``Transport`` for `http` fulfils the contract of its protocol, against a ``LoopbackServer``.
///
/// It needs no test framework: failures are returned as values.
///
/// ```swift
/// let conformance = TransportConformance { MyTransport() }
/// for check in TransportConformance.checks {
///     let failures = await conformance.run(check)
///     #expect(failures.isEmpty, "\(check): \(failures)")
/// }
/// ```
///
/// Every check makes its own transport and server, and shuts both down.
public struct TransportConformance: Sendable {
    /// A check of this suite.
    public typealias Check = ConformanceCheck
    /// A violation that a check of this suite has found.
    public typealias Failure = ConformanceFailure

    private let makeTransport: @Sendable () throws -> any Transport
    private let limit: Duration

    /// Creates the suite for one kind of transport.
    ///
    /// - Parameters:
    ///   - limit: the maximum time that a check waits for one event before it fails.
    ///   - makeTransport: returns a new transport, which the check shuts down. If it throws, the check fails.
    public init(
        waitingAtMost limit: Duration = .seconds(10), _ makeTransport: @escaping @Sendable () throws -> any Transport
    ) {
        self.limit = limit
        self.makeTransport = makeTransport
    }

    /// All checks, in a fixed order.
    public static var checks: [Check] { list.checks }

    /// Runs one check.
    ///
    /// - Parameter check: one of ``checks``. A check of another suite traps.
    /// - Returns: the violations; empty if the rule holds.
    public func run(_ check: Check) async -> [Failure] {
        let body = Self.list.body(of: check)
        do {
            let bench = try ConformanceBench(
                transport: makeTransport(), check: check, limit: limit)
            do {
                try await body(bench)
            } catch {
                bench.fail("\(error) \(bench.serverSummary)")
            }
            return await bench.end()
        } catch {
            return [Failure(check: check, observation: "the check could not start: \(error)")]
        }
    }

    /// Runs all checks, one after the other. Returns their violations; empty if all rules hold.
    public func run() async -> [Failure] {
        var failures: [Failure] = []
        for check in Self.checks { failures += await run(check) }
        return failures
    }

    typealias Body = CheckList<ConformanceBench>.Body

    private static let list = CheckList<ConformanceBench>(exchanges + messages + cancellations + failures)
}
