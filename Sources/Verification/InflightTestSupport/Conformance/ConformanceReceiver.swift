internal import Glibc
internal import InflightConcurrency
internal import InflightCore

/// A receiver of one exchange that records every violation of the contract of ``TransportReceiver``.
final class ConformanceReceiver: TransportReceiver {
    struct State {
        var heads: [ResponseHead] = []
        var expectedBytes: Int64?
        var interimStatuses: [Int] = []
        var body: [UInt8] = []
        var trailers: HTTPFields?
        var results: [Result<TransportSummary, LoadError>] = []
        var breaches: [String] = []
        var isInsideCall = false
        var isPaused = false
        /// The thread that is inside `start` or `cancel` of this exchange.
        var caller: pthread_t?
    }

    let state = Guarded(State())
    let waiting = WaitList()
    private let headDisposition: TransportDisposition
    private let bytesDisposition: TransportDisposition

    init(head: TransportDisposition = .proceed, bytes: TransportDisposition = .proceed) {
        headDisposition = head
        bytesDisposition = bytes
    }

    /// Performs a call of the transport during which the receiver may not be called.
    func outside<Result>(_ call: () -> Result) -> Result {
        state.withLock { $0.caller = pthread_self() }
        defer { state.withLock { $0.caller = nil } }
        return call()
    }

    func resume(_ transfer: any Transfer) {
        state.withLock { $0.isPaused = false }
        transfer.resume()
    }

    func didReceive(interim head: ResponseHead) {
        record("an interim head") { $0.interimStatuses.append(head.status) }
    }

    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition {
        record("the head", answer: headDisposition) { state in
            if !state.heads.isEmpty { state.breaches.append("a second head was delivered") }
            state.heads.append(head)
            state.expectedBytes = expectedBytes
        }
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition {
        let copy = unsafe [UInt8](bytes)
        return record("bytes", answer: bytesDisposition) { state in
            if state.heads.isEmpty { state.breaches.append("bytes arrived before the head") }
            if state.trailers != nil { state.breaches.append("bytes arrived after the trailers") }
            if copy.isEmpty { state.breaches.append("an empty piece of the body was delivered") }
            if offset != Int64(state.body.count) {
                state.breaches.append("bytes at offset \(offset) arrived after \(state.body.count) bytes")
            }
            state.body += copy
        }
    }

    func didReceive(trailers: HTTPFields) {
        record("trailers") { state in
            if state.heads.isEmpty { state.breaches.append("trailers arrived before the head") }
            if state.trailers != nil { state.breaches.append("trailers arrived twice") }
            state.trailers = trailers
        }
    }

    func didEnd(_ result: Result<TransportSummary, LoadError>) {
        record("the end") { $0.results.append(result) }
    }

    @discardableResult
    private func record(
        _ what: String, answer: TransportDisposition = .proceed, _ note: (inout State) -> Void
    ) -> TransportDisposition {
        state.withLock { state in
            if state.isInsideCall { state.breaches.append("\(what) arrived during another call") }
            if !state.results.isEmpty { state.breaches.append("\(what) arrived after the end") }
            if state.isPaused, what == "bytes" { state.breaches.append("bytes arrived during a pause") }
            if let caller = state.caller, pthread_equal(caller, pthread_self()) != 0 {
                state.breaches.append("\(what) arrived inside a call of start or cancel")
            }
            state.isInsideCall = true
            note(&state)
            if case .pause = answer { state.isPaused = true }
        }
        state.withLock { $0.isInsideCall = false }
        waiting.somethingChanged()
        return answer
    }

    // MARK: Inspection

    var result: Result<TransportSummary, LoadError>? { state.withLock { $0.results.first } }
    var code: LoadError.Code? { if case .failure(let error) = result { error.code } else { nil } }

    /// The result, for messages.
    var ending: String {
        switch result {
        case nil: "nothing"
        case .success: "success"
        case .failure(let error): "\(error.code)"
        }
    }

    func waitForEnd(within limit: Duration) async throws(WaitFailure) {
        try await waiting.wait(for: "the end", within: limit, seen: { seen }) { self.result != nil }
    }

    func waitForHead(within limit: Duration) async throws(WaitFailure) {
        try await waiting.wait(for: "the head", within: limit, seen: { seen }) {
            self.state.withLock { !$0.heads.isEmpty }
        }
    }

    func waitForBytes(_ count: Int, within limit: Duration) async throws(WaitFailure) {
        try await waiting.wait(for: "\(count) bytes", within: limit, seen: { seen }) {
            self.state.withLock { $0.body.count >= count }
        }
    }

    private var seen: String {
        state.withLock {
            "\($0.heads.count) heads, \($0.body.count) bytes and \($0.results.count) ends were delivered."
        }
    }
}
