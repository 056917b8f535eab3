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
/// Every check makes its own transport and server, and shuts both down. A transport declares the features that its
/// underlying library does not support: see ``Shortcoming``.
public struct TransportConformance: Sendable {
    /// A check of this suite.
    public typealias Check = ConformanceCheck
    /// A violation that a check of this suite has found.
    public typealias Failure = ConformanceFailure

    /// A feature that a transport lacks. The suite then checks the rules that apply without it. Declaring a shortcoming
    /// that the transport does not have is a failure.
    public struct Shortcoming: Sendable, Hashable, CustomStringConvertible {
        /// The shortcoming as a phrase, which also identifies it.
        public let description: String

        /// Repeated fields, of requests and of responses, arrive as one, joined by commas.
        public static let joinsDoubledFields = Self(description: "joins repeated fields")
        /// It does not report whether a connection was reused.
        public static let hidesReusedConnections = Self(description: "hides reused connections")
        /// Trailer fields crash the program or break the transport, so the suite sends none.
        public static let breaksOnTrailers = Self(description: "breaks on trailers")
        /// Bytes that arrive during a pause are read from the connection.
        public static let readsOnInPauses = Self(description: "reads during pauses")
    }

    private let makeTransport: @Sendable () throws -> any Transport
    private let shortcomings: Set<Shortcoming>
    private let limit: Duration

    /// Creates the suite for one kind of transport.
    ///
    /// - Parameters:
    ///   - limit: the maximum time that a check waits for one event before it fails.
    ///   - shortcomings: the features that the transport lacks.
    ///   - makeTransport: returns a new transport, which the check shuts down. If it throws, the check fails.
    public init(
        waitingAtMost limit: Duration = .seconds(10), shortcomings: Set<Shortcoming> = [],
        _ makeTransport: @escaping @Sendable () throws -> any Transport
    ) {
        self.limit = limit
        self.shortcomings = shortcomings
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
                transport: makeTransport(), check: check, shortcomings: shortcomings, limit: limit)
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
