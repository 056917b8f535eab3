import Inflight
import InflightCore

/// What is written of a run when it is over: the files are opened before it begins, so that what is wrong with them is known
/// before anything is asked for.
struct RunOutput: Sendable {
    let recorder: RunRecorder
    private let trace: DrawingFile?
    private let tracePath: String
    private let command: String

    /// `nil` where nobody wants to know.
    ///
    /// - Throws: what to do, where a file cannot be written.
    init?(_ options: GetOptions, arguments: [String]) throws(SystemFailure) {
        guard options.isRecorded else { return nil }
        recorder = RunRecorder(tellsStories: options.network.isVerbose)
        command = ShownCommand.text(arguments)
        tracePath = options.trace ?? ""
        trace = try options.trace.map { path throws(SystemFailure) in try Self.open(path, "trace") }
    }

    struct SystemFailure: Error {
        var message: String
    }

    private static func open(_ path: String, _ what: String) throws(SystemFailure) -> DrawingFile {
        do throws(SystemError) {
            return try DrawingFile(path)
        } catch {
            throw SystemFailure(message: problem(path, what, error))
        }
    }

    private static func problem(_ path: String, _ what: String, _ error: SystemError) -> String {
        "The \(what) cannot be written to \(path.quoted): \(error.text). "
            + "Name a file in a directory that is there and may be written to, with --\(what) FILE."
    }

    /// Whether there are files to write.
    var writesFiles: Bool { trace != nil }

    /// Writes all there is to write. After the pipeline's shutdown.
    ///
    /// - Returns: what went wrong.
    func write(limits: [PipelineEvent.Lane: Int]) -> [String] {
        guard let trace else { return [] }
        let record = recorder.record(command: command, limits: limits)
        do throws(SystemError) {
            try RunTrace(record).write { bytes throws(SystemError) in try trace.append(bytes) }
            try trace.finish()
            return []
        } catch {
            return [Self.problem(tracePath, "trace", error)]
        }
    }

    /// Leaves nothing behind.
    func abandon() { trace?.abandon() }
}
