import Glibc
import InflightConcurrency
import InflightTestSupport

/// A file with the sequences of many schedules, in the order of their seeds: `Scripts/compare-recordings.py`.
final class Recording: Sendable {
    private struct State: Sendable {
        var next: UInt64
        /// Texts of later seeds.
        var waiting: [UInt64: String] = [:]
        var error: Int32?
    }

    private let descriptor: Int32
    private let state: Guarded<State>

    /// Creates the file, or returns nil with `errno` set.
    init?(_ path: String, first: UInt64) {
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard descriptor >= 0 else { return nil }
        state = Guarded(State(next: first))
    }

    /// The error number of the first write that failed.
    var error: Int32? { state.withLock { $0.error } }

    func add(_ report: Simulator.Report) {
        let trace = String(report.hash, radix: 16)
        let lines = ["seed \(report.seed), trace \(trace)"] + report.sequences + [""]
        state.withLock { state in
            state.waiting[report.seed] = lines.joined(separator: "\n")
            while let text = state.waiting.removeValue(forKey: state.next) {
                state.next &+= 1
                if state.error == nil { state.error = write(text) }
            }
        }
    }

    private func write(_ text: String) -> Int32? {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 { return errno }
            rest = rest.dropFirst(count)
        }
        return nil
    }
}
