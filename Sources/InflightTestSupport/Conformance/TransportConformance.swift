public import InflightCore

/// Checks that any ``Transport`` for `http` keeps the promises of its protocol, against a ``LoopbackServer``.
///
/// It needs no test framework: what is wrong comes back as values.
///
/// ```swift
/// let conformance = TransportConformance { MyTransport() }
/// for check in TransportConformance.checks {
///     let failures = await conformance.run(check)
///     #expect(failures.isEmpty, "\(check): \(failures)")
/// }
/// ```
///
/// Every check makes a transport and a server of its own, and shuts both down.
public struct TransportConformance: Sendable {
    /// A promise that was not kept.
    public struct Failure: Sendable, Hashable, CustomStringConvertible {
        public var check: Check
        public var description: String
    }

    /// One of the checks: an open set, ``checks`` has all.
    public struct Check: Sendable, Hashable, CustomStringConvertible {
        /// What holds, as a sentence.
        public let description: String
    }

    private let makeTransport: @Sendable () throws -> any Transport

    private let limit: Duration

    /// - Parameters:
    ///   - limit: the longest that a check waits for one thing to happen, before it fails.
    ///   - makeTransport: makes a new transport, which the check shuts down.
    public init(
        waitingAtMost limit: Duration = .seconds(10), _ makeTransport: @escaping @Sendable () throws -> any Transport
    ) {
        self.limit = limit
        self.makeTransport = makeTransport
    }

    /// All checks, in a fixed order.
    public static var checks: [Check] { all.map(\.check) }

    /// Runs one check.
    public func run(_ check: Check) async -> [Failure] {
        guard let body = Self.all.first(where: { $0.check == check })?.body else { return [] }
        do {
            let bench = try ConformanceBench(transport: makeTransport(), check: check, limit: limit)
            do {
                try await body(bench)
            } catch {
                bench.fail("\(error) \(bench.serversView)")
            }
            return await bench.end()
        } catch {
            return [Failure(check: check, description: "the check could not begin: \(error)")]
        }
    }

    /// Runs all checks, one after the other.
    public func run() async -> [Failure] {
        var failures: [Failure] = []
        for check in Self.checks { failures += await run(check) }
        return failures
    }

    typealias Body = @Sendable (ConformanceBench) async throws -> Void

    private static let all: [(check: Check, body: Body)] = (exchanges + cancellations + failures).map {
        (Check(description: $0), $1)
    }
}
