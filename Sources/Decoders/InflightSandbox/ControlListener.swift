internal import Glibc
import InflightConcurrency
import InflightWorker

/// Receives messages on the second socket, on its own thread: cancels during a decode, and the end of the program. When
/// the program ends, the process exits, even during a decode.
final class ControlListener: Sendable {
    private struct State {
        var id = 0
        var flag: CancellationFlag?
        /// The last cancelled ID. Its decode may not have started.
        var cancelled = 0
    }

    private let state = Guarded(State())

    init(_ control: MessageSocket) {
        WorkerThreads(count: 1, name: "control").run { [self] in
            while case .message(let bytes, _) = control.receive(upTo: 64) {
                if case .cancel(let id) = DecoderRequest(bytes) { cancel(id) }
            }
            _exit(0)
        }
    }

    /// Returns the cancellation flag of a decode that starts.
    func begin(_ id: Int) -> CancellationFlag {
        let flag = CancellationFlag()
        let isCancelled = state.withLock { state in
            state.id = id
            state.flag = flag
            return state.cancelled == id
        }
        if isCancelled { flag.cancel() }
        return flag
    }

    private func cancel(_ id: Int) {
        let flag = state.withLock { state in
            state.cancelled = id
            return state.id == id ? state.flag : nil
        }
        flag?.cancel()
    }
}
