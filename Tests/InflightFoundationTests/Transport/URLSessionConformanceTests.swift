import Foundation
import InflightCore
import InflightFoundation
import InflightTestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// Serialized: sessions that read as fast as a loopback server writes leave hardly a Dispatch thread to each other and
// to everything else.
@Suite("URLSession: transport conformance", .serialized, .timeLimit(.minutes(10)))
struct URLSessionConformanceTests {
    /// The limitations stated in the documentation of `URLSessionTransport`.
    private let shortcomings: Set<TransportConformance.Shortcoming> = [
        .joinsDoubledFields, .hidesReusedConnections, .breaksOnTrailers, .readsOnInPauses,
    ]

    @Test("The transport conforms with its own session", arguments: TransportConformance.checks)
    func ownSession(check: TransportConformance.Check) async {
        let conformance = TransportConformance(waitingAtMost: .seconds(30), shortcomings: shortcomings) {
            URLSessionTransport()
        }
        let failures = await conformance.run(check)
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test("The transport conforms with a lent session", arguments: TransportConformance.checks)
    func lentSession(check: TransportConformance.Check) async {
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
