internal import InflightConcurrency
internal import InflightCore

/// The transport, the server and the list of failures of one check.
final class ConformanceBench: Sendable {
    let server: LoopbackServer
    let transport: any Transport
    let limit: Duration
    private let check: ConformanceCheck
    private let receivers = Guarded<[ConformanceReceiver]>([])
    private let failures = Guarded<[String]>([])

    init(transport: any Transport, check: ConformanceCheck, limit: Duration) throws {
        self.transport = transport
        self.check = check
        self.limit = limit
        server = try LoopbackServer()
    }

    /// The server's latest events, for messages.
    var serverSummary: String {
        let last = server.events.suffix(6).map(\.description).joined(separator: "; ")
        return "The server saw \(server.requestCount) requests on \(server.openedConnections) connections, of which "
            + "\(server.openConnections) are open; last events: \(last); now: \(SystemClock().now().nanoseconds / 1000) µs"
    }

    func fail(_ text: String) {
        failures.withLock { $0.append(text) }
    }

    func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) {
        if !isTrue { fail(text()) }
    }

    /// Expects that repeated fields are as sent.
    func expectDoubled(_ values: [String], _ sent: [String]) {
        expect(values == sent, "repeated fields arrived as \(values)")
    }

    /// Limits without timeouts. The checks are about order, so a machine under load is no failure.
    var limits: TransportRequest.Limits {
        var limits = TransportRequest.Limits()
        limits.connectTimeout = nil
        limits.stallTimeout = nil
        return limits
    }

    /// Starts an exchange of a path, and checks that the receiver is not called inside.
    func start(
        _ path: String, method: String = "GET", limit: Int64? = nil,
        _ receiver: ConformanceReceiver = ConformanceReceiver()
    ) throws -> (transfer: any Transfer, receiver: ConformanceReceiver) {
        try start(url: server.url(path), method: method, limit: limit, receiver)
    }

    func start(
        url: String, method: String = "GET", limit: Int64? = nil, _ receiver: ConformanceReceiver
    ) throws -> (transfer: any Transfer, receiver: ConformanceReceiver) {
        var request = TransportRequest(url: try ResourceURL(url), method: method)
        request.limits = limits
        if let limit { request.limits.maximumBodyBytes = limit }
        return start(request, receiver)
    }

    /// Starts an exchange with the limits of its request.
    func start(
        _ request: TransportRequest, _ receiver: ConformanceReceiver
    ) -> (transfer: any Transfer, receiver: ConformanceReceiver) {
        receivers.withLock { $0.append(receiver) }
        return (receiver.outside { transport.start(request, receiver: receiver) }, receiver)
    }

    /// Runs an exchange to its end.
    func finish(_ path: String, method: String = "GET", limit: Int64? = nil) async throws -> ConformanceReceiver {
        let (_, receiver) = try start(path, method: method, limit: limit)
        try await receiver.waitForEnd(within: self.limit)
        return receiver
    }

    /// Shuts everything down. Then every exchange must have ended once, without violations.
    func end() async -> [TransportConformance.Failure] {
        await transport.shutdown()
        server.stop()
        for receiver in receivers.withLock({ $0 }) {
            let (ends, breaches) = receiver.state.withLock { ($0.results.count, $0.breaches) }
            expect(ends == 1, "an exchange ended \(ends) times, shutdown included")
            breaches.forEach(fail)
        }
        return failures.withLock { $0 }.map { TransportConformance.Failure(check: check, observation: $0) }
    }
}
