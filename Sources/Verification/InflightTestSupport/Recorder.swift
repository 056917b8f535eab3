internal import Dispatch
internal import InflightConcurrency
package import InflightCore

/// A receiver that records everything it receives, traps if a transport breaks its order, and can be waited for.
package final class Recorder: TransportReceiver {
    package struct Recording {
        package var interim: [ResponseHead] = []
        package var head: ResponseHead?
        package var expectedBytes: Int64?
        package var body: [UInt8] = []
        package var trailers: HTTPFields?
        package var end: Result<TransportSummary, LoadError>?
        package var chunks = 0
    }

    private struct State {
        var heard = Recording()
        var waiters: [(isMet: (Recording) -> Bool, done: DispatchSemaphore)] = []
    }

    private let state = Guarded(State())
    private let onHead: @Sendable (ResponseHead) -> TransportDisposition
    private let onBytes: @Sendable (Int64) -> TransportDisposition
    private let keepsBody: Bool

    package init(
        keepsBody: Bool = true,
        onHead: @escaping @Sendable (ResponseHead) -> TransportDisposition = { _ in .proceed },
        onBytes: @escaping @Sendable (Int64) -> TransportDisposition = { _ in .proceed }
    ) {
        self.keepsBody = keepsBody
        self.onHead = onHead
        self.onBytes = onBytes
    }

    package var heard: Recording { state.withLock { $0.heard } }

    private func record(_ change: (inout Recording) -> Void) {
        state.withLock { state in
            if state.heard.end != nil { preconditionFailure("something followed the end") }
            change(&state.heard)
            let heard = state.heard
            state.waiters.removeAll { waiter in
                guard heard.end != nil || waiter.isMet(heard) else { return false }
                waiter.done.signal()
                return true
            }
        }
    }

    package func didReceive(interim head: ResponseHead) {
        record { heard in
            if heard.head != nil { preconditionFailure("an interim head followed the final one") }
            heard.interim.append(head)
        }
    }

    package func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition {
        record { heard in
            if heard.head != nil { preconditionFailure("a second head") }
            heard.head = head
            heard.expectedBytes = expectedBytes
        }
        return onHead(head)
    }

    package func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition {
        record { heard in
            if heard.head == nil { preconditionFailure("bytes before the head") }
            if heard.trailers != nil { preconditionFailure("bytes behind the trailers") }
            if keepsBody, offset != Int64(heard.body.count) { preconditionFailure("offset \(offset) is wrong") }
            if keepsBody { unsafe heard.body.append(contentsOf: bytes) }
            heard.chunks += 1
        }
        return onBytes(offset)
    }

    package func didReceive(trailers: HTTPFields) {
        record { heard in
            if heard.head == nil { preconditionFailure("trailers before the head") }
            if heard.trailers != nil { preconditionFailure("trailers came twice") }
            heard.trailers = trailers
        }
    }

    package func didEnd(_ result: Result<TransportSummary, LoadError>) {
        record { $0.end = result }
    }

    /// Waits, on the test's own thread, until the record satisfies `isMet` or the end has arrived.
    package func wait(until isMet: @escaping (Recording) -> Bool) -> Recording {
        let done = DispatchSemaphore(value: 0)
        let isMetAlready = state.withLock { state in
            if state.heard.end != nil || isMet(state.heard) { return true }
            state.waiters.append((isMet, done))
            return false
        }
        if !isMetAlready { done.wait() }
        return heard
    }

    package func waitForEnd() -> Recording { wait { $0.end != nil } }
}

extension Recorder.Recording {
    package var text: String { String(decoding: body, as: UTF8.self) }

    package var summary: TransportSummary? {
        guard case .success(let summary)? = end else { return nil }
        return summary
    }

    package var error: LoadError? {
        guard case .failure(let error)? = end else { return nil }
        return error
    }
}

extension Transport {
    /// Runs one exchange, and waits for it on this thread.
    package func load(_ url: String, _ change: (inout TransportRequest) -> Void = { _ in }) throws -> Recorder.Recording
    {
        let recorder = Recorder()
        _ = start(try .of(url, change), receiver: recorder)
        return recorder.waitForEnd()
    }
}

extension TransportRequest {
    package static func of(
        _ url: String, _ change: (inout TransportRequest) -> Void = { _ in }
    ) throws -> TransportRequest {
        var request = TransportRequest(url: try ResourceURL(url))
        change(&request)
        return request
    }
}
