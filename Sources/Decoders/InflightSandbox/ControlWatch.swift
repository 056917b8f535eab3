internal import Glibc
import InflightConcurrency
import InflightWorker

/// Listens on the second socket, in a thread of its own: for cancels while a decode is under way, and for the program's end,
/// with which the process ends, whatever it is doing.
final class ControlWatch: Sendable {
    private struct State {
        var id = 0
        var flag: CancellationFlag?
        /// The last that was cancelled: its decode may not have begun.
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

    /// The flag of a work that begins.
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
