import InflightConcurrency
import InflightCore

/// A receiver that records its calls and returns the given dispositions.
final class Recorder: TransportReceiver {
    struct State {
        var heard: [String] = []
        var body: [UInt8] = []
        var result: Result<TransportSummary, LoadError>?
        var answers: [TransportDisposition] = []
    }

    let state: Guarded<State>

    /// - Parameter answers: the dispositions to return first, second, …; then always `proceed`.
    init(_ answers: TransportDisposition...) {
        state = Guarded(State(answers: answers))
    }

    var heard: [String] { state.withLock { $0.heard } }
    var result: Result<TransportSummary, LoadError>? { state.withLock { $0.result } }

    private func note(_ text: String) -> TransportDisposition {
        state.withLock { state in
            state.heard.append(text)
            return state.answers.isEmpty ? .proceed : state.answers.removeFirst()
        }
    }

    func didReceive(interim head: ResponseHead) {
        state.withLock { $0.heard.append("interim \(head.status)") }
    }

    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition {
        note("head \(head.status) \(expectedBytes.map { String($0) } ?? "?")")
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition {
        let text = unsafe String(decoding: bytes, as: UTF8.self)
        state.withLock { $0.body += Array(text.utf8) }
        return note("\(offset): \(text)")
    }

    func didEnd(_ result: Result<TransportSummary, LoadError>) {
        state.withLock { state in
            state.result = result
            switch result {
            case .success(let summary): state.heard.append("end \(summary.bodyBytes)")
            case .failure(let error): state.heard.append("error \(error.code)")
            }
        }
    }
}
