internal import CInflightBatch
internal import Glibc
internal import InflightConcurrency
internal import InflightFiles

/// The program of `--then`, which takes over the files of finished shards.
package struct ThenProgram: Hashable, Sendable {
    /// Its absolute path.
    let path: String
    /// Whether the files stay in the folder of the output.
    package var keepsFiles = false
    /// The time limit of each call.
    var timeLimit = Duration.seconds(600)
    /// The number of calls for a file, of which the last one ends the run if it fails.
    var attempts = 5
    /// The time between the first two calls for a file, doubled after each.
    var pause = Duration.seconds(5)

    /// Finds a program by its path, or, without a slash, in the folders of PATH. Returns `nil` if there is none that
    /// can be run.
    package init?(_ name: String) {
        var candidates = [name]
        if !name.contains("/") {
            let folders = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? ""
            candidates = folders.split(separator: ":").map { "\($0)/\(name)" }
        }
        let found = candidates.first { path in
            unsafe access(path, X_OK) == 0 && (try? FileStatus(of: path, followsLink: true))?.isFile == true
        }
        guard let found, let absolute = unsafe realpath(found, nil) else { return nil }
        defer { unsafe free(absolute) }
        // Programs that have several names tell them apart by the link.
        path = found.hasPrefix("/") ? found : unsafe String(cString: absolute)
    }
}

/// Runs the program of `--then` for the files of finished shards: one file of a shard after the other, and several
/// shards at the same time.
///
/// Safe from any thread.
final class HandOver: Sendable {
    /// The number of shards whose files are handed over at the same time.
    private static let threadCount = 4

    let program: ThenProgram
    private let threads = WorkerThreads(count: threadCount, name: "inflight-then")
    /// A pipe: its end for writing is closed to end all calls.
    private let reader: FileDescriptor
    private let writer: Guarded<FileDescriptor?>
    private let warn: @Sendable (String) -> Void

    /// - Parameter warn: Called on any thread with the reason of a call that is repeated.
    init(_ program: ThenProgram, warn: @escaping @Sendable (String) -> Void) throws(BatchFailure) {
        self.program = program
        self.warn = warn
        var ends: [Int32] = [-1, -1]
        guard unsafe inflight_pipe(&ends) == 0 else {
            throw .handOver("Cannot run \(program.path): \(SystemError.last.systemText).")
        }
        reader = FileDescriptor(ends[0])
        writer = Guarded(FileDescriptor(ends[1]))
    }

    deinit {
        cancel()
        try? reader.close()
    }

    /// Ends all calls soon. Those for files that follow fail at once.
    func cancel() { try? writer.withLock { $0.take() }?.close() }

    /// Hands files over, one after the other, and calls `onEnd` on any thread.
    func start(_ files: [String], onEnd: @escaping @Sendable (Result<Void, BatchFailure>) -> Void) {
        threads.run { [self] in
            onEnd(Result { () throws(BatchFailure) in for file in files { try run(file) } })
        }
    }

    private func run(_ file: String) throws(BatchFailure) {
        var pause = program.pause
        for attempt in 1...program.attempts {
            guard let reason = try failure(file) else { return }
            let text = "\(program.path) \(reason) for \(file)."
            guard attempt < program.attempts else {
                throw .handOver(
                    "\(text) It has failed \(attempt) times. Correct the cause, then run the same command again.")
            }
            warn("\(text) Trying again in \(pause.components.seconds) s.")
            if inflight_wait(-1, reader.number, Self.milliseconds(pause)) == ECANCELED { throw Self.cancelled(file) }
            pause *= 2
        }
    }

    /// Runs the program once. Returns why it failed, as the rest of a sentence.
    private func failure(_ file: String) throws(BatchFailure) -> String? {
        var status: Int32 = 0
        let error = unsafe inflight_run(
            program.path, file, reader.number, Self.milliseconds(program.timeLimit), &status)
        switch error {
        case 0 where status == 0: return nil
        case 0 where status & 0x7F == 0: return "ended with status \(status >> 8 & 0xFF)"
        case 0: return "was ended by signal \(status & 0x7F)"
        case ETIMEDOUT: return "did not end within \(program.timeLimit.components.seconds) s"
        case ECANCELED: throw Self.cancelled(file)
        default: return "cannot be run (\(SystemError(code: error).systemText))"
        }
    }

    private static func cancelled(_ file: String) -> BatchFailure { .output(.read, file, ECANCELED) }

    private static func milliseconds(_ time: Duration) -> Int64 {
        time.components.seconds * 1000 + time.components.attoseconds / 1_000_000_000_000_000
    }
}
