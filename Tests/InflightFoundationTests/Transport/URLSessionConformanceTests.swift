import Foundation
import InflightCore
import InflightFoundation
import InflightTestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// Serialized: sessions that read as fast as a loopback server writes leave hardly a thread to each other, and to
// everything else that waits for Dispatch.
@Suite("URLSession: transport conformance", .serialized, .timeLimit(.minutes(10)))
struct URLSessionConformanceTests {
    /// The limitations that its documentation states.
    private let shortcomings: Set<TransportConformance.Shortcoming> = [
        .joinsDoubledFields, .hidesReusedConnections, .breaksOnTrailers, .readsOnInPauses,
    ]

    @Test("with a session of its own", arguments: TransportConformance.checks)
    func sessionOwn3(check: TransportConformance.Check) async {
        let conformance = TransportConformance(waitingAtMost: .seconds(30), shortcomings: shortcomings) {
            URLSessionTransport()
        }
        let failures = await conformance.run(check)
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test("with a session that is lent", arguments: TransportConformance.checks)
    func sessionLent3(check: TransportConformance.Check) async {
        let session = URLSession(
            configuration: .ephemeral, delegate: URLSessionTransport.SessionDelegate(),
            delegateQueue: URLSessionTransport.makeDelegateQueue())
        defer { session.finishTasksAndInvalidate() }
        let conformance = TransportConformance(waitingAtMost: .seconds(30), shortcomings: shortcomings) {
            try URLSessionTransport(lending: session)
        }
        let failures = await conformance.run(check)
        #expect(failures.isEmpty, "\(failures)")
    }
}
