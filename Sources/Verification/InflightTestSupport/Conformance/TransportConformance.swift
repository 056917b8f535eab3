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
/// Every check makes a transport and a server of its own, and shuts both down. What a transport cannot do, because what
/// it is built on cannot, is declared: see ``Shortcoming``.
public struct TransportConformance: Sendable {
    public typealias Check = ConformanceCheck
    public typealias Failure = ConformanceFailure

    /// What a transport cannot do. It is then asked for what holds all the same, and one that is declared without need
    /// is a failure, so that the list stays true.
    public struct Shortcoming: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// Doubled fields, of requests and of answers, come as one, joined by commas.
        public static let joinsDoubledFields = Self(description: "joins doubled fields")
        /// It does not tell whether a connection was used again.
        public static let hidesReusedConnections = Self(description: "hides reused connections")
        /// Fields behind a body end the program, or worse: none are sent to it.
        public static let breaksOnTrailers = Self(description: "breaks on trailers")
        /// What came in a pause has been taken off the wire.
        public static let readsOnInPauses = Self(description: "reads on in pauses")
    }

    private let makeTransport: @Sendable () throws -> any Transport
    private let shortcomings: Set<Shortcoming>
    private let limit: Duration

    /// - Parameters:
    ///   - limit: the longest that a check waits for one thing to happen, before it fails.
    ///   - shortcomings: what the transport cannot do.
    ///   - makeTransport: makes a new transport, which the check shuts down.
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
    public func run(_ check: Check) async -> [Failure] {
        let body = Self.list.body(of: check)
        do {
            let bench = try ConformanceBench(
                transport: makeTransport(), check: check, shortcomings: shortcomings, limit: limit)
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

    typealias Body = CheckList<ConformanceBench>.Body

    private static let list = CheckList<ConformanceBench>(exchanges + messages + cancellations + failures)
}
