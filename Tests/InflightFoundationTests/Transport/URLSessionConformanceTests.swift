import Foundation
import InflightCore
import InflightFoundation
import InflightTestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// One after the other: sessions that read as quickly as a loopback server writes leave each other, and everything else
// that waits for Dispatch, hardly a thread.
@Suite("The checks that every transport passes, by URLSession", .serialized, .timeLimit(.minutes(10)))
struct URLSessionConformanceTests {
    /// What its documentation says that it cannot do.
    private let shortcomings: Set<TransportConformance.Shortcoming> = [
        .joinsDoubledFields, .hidesReusedConnections, .breaksOnTrailers, .readsOnInPauses,
    ]

    @Test(arguments: TransportConformance.checks)
    func `with a session of its own`(check: TransportConformance.Check) async {
        let conformance = TransportConformance(waitingAtMost: .seconds(30), shortcomings: shortcomings) {
            URLSessionTransport()
        }
        let failures = await conformance.run(check)
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test(arguments: TransportConformance.checks)
    func `with a session that is lent`(check: TransportConformance.Check) async {
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
