import Dispatch
import InflightConcurrency
import InflightCore
import Testing

/// A receiver that keeps all that it hears, checks the order of it, and can be waited for.
final class Recorder: TransportReceiver {
    struct Heard {
        var interim: [ResponseHead] = []
        var head: ResponseHead?
        var expectedBytes: Int64?
        var body: [UInt8] = []
        var end: Result<TransportSummary, LoadError>?
        var chunks = 0
    }

    private struct State {
        var heard = Heard()
        var waiters: [(isMet: (Heard) -> Bool, done: DispatchSemaphore)] = []
    }

    private let state = Guarded(State())
    private let onHead: @Sendable (ResponseHead) -> TransportDisposition
    private let onBytes: @Sendable (Int64) -> TransportDisposition
    private let keepsBody: Bool

    init(
        keepsBody: Bool = true,
        onHead: @escaping @Sendable (ResponseHead) -> TransportDisposition = { _ in .proceed },
        onBytes: @escaping @Sendable (Int64) -> TransportDisposition = { _ in .proceed }
    ) {
        self.keepsBody = keepsBody
        self.onHead = onHead
        self.onBytes = onBytes
    }

    var heard: Heard { state.withLock { $0.heard } }

    private func record(_ change: (inout Heard) -> Void) {
        state.withLock { state in
            if state.heard.end != nil { Issue.record("something followed the end") }
            change(&state.heard)
            let heard = state.heard
            state.waiters.removeAll { waiter in
                guard waiter.isMet(heard) else { return false }
                waiter.done.signal()
                return true
            }
        }
    }

    func didReceive(interim head: ResponseHead) {
        record { heard in
            if heard.head != nil { Issue.record("an interim head followed the final one") }
            heard.interim.append(head)
        }
    }

    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition {
        record { heard in
            if heard.head != nil { Issue.record("a second head") }
            heard.head = head
            heard.expectedBytes = expectedBytes
        }
        return onHead(head)
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition {
        record { heard in
            if heard.head == nil { Issue.record("bytes before the head") }
            if keepsBody, offset != Int64(heard.body.count) { Issue.record("offset \(offset) is wrong") }
            if keepsBody { unsafe heard.body.append(contentsOf: bytes) }
            heard.chunks += 1
        }
        return onBytes(offset)
    }

    func didEnd(_ result: Result<TransportSummary, LoadError>) {
        record { $0.end = result }
    }

    /// Waits, on the test's own thread, until what was heard is as wanted.
    func wait(until isMet: @escaping (Heard) -> Bool) -> Heard {
        let done = DispatchSemaphore(value: 0)
        let isMetAlready = state.withLock { state in
            if isMet(state.heard) { return true }
            state.waiters.append((isMet, done))
            return false
        }
        if !isMetAlready { done.wait() }
        return heard
    }

    func waitForEnd() -> Heard { wait { $0.end != nil } }
}

extension Recorder.Heard {
    var text: String { String(decoding: body, as: UTF8.self) }

    var summary: TransportSummary? {
        guard case .success(let summary)? = end else { return nil }
        return summary
    }

    var error: LoadError? {
        guard case .failure(let error)? = end else { return nil }
        return error
    }
}
