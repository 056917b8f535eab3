import Inflight
import InflightCore

/// The files written when a run is over. They are opened before it begins, so that problems are known before any
/// request.
struct RunOutput: Sendable {
    let recorder: RunRecorder
    private let trace: Output?
    private let report: Output?
    private let command: String

    private struct Output: Sendable {
        let file: AtomicFile
        let path: String
    }

    /// Returns `nil` if the run is not recorded.
    ///
    /// - Throws: A refusal with a remedy, if a file cannot be written.
    init?(_ options: GetOptions, arguments: [String]) throws(CommandLineTool.Refusal) {
        guard options.isRecorded else { return nil }
        recorder = RunRecorder(describesLoads: options.network.isVerbose)
        command = RedactedText.text(arguments)
        trace = try Self.open(options.trace, "trace")
        do throws(CommandLineTool.Refusal) {
            report = try Self.open(options.report, "report")
        } catch {
            trace?.file.abandon()
            throw error
        }
    }

    private static func open(_ path: String?, _ what: String) throws(CommandLineTool.Refusal) -> Output? {
        guard let path else { return nil }
        do throws(SystemError) {
            return Output(file: try AtomicFile(path), path: path)
        } catch {
            throw CommandLineTool.Refusal(message: problem(path, what, error))
        }
    }

    private static func problem(_ path: String, _ what: String, _ error: SystemError) -> String {
        "Cannot write the \(what) \(path.quoted): \(error.text). "
            + "Choose a file in an existing, writable folder with --\(what) FILE."
    }

    /// Whether there are files to write.
    var writesFiles: Bool { trace != nil || report != nil }

    /// Writes all files. Call it after the pipeline's shutdown.
    ///
    /// - Returns: The problems.
    func write(limits: [ImagePipeline.Event.Lane: Int]) -> [String] {
        guard writesFiles else { return [] }
        let record = recorder.record(command: command, limits: limits)
        var problems: [String] = []
        if let trace {
            do throws(SystemError) {
                try RunTrace(record).write { bytes throws(SystemError) in try trace.file.append(bytes) }
                try trace.file.finish()
            } catch {
                problems.append(Self.problem(trace.path, "trace", error))
            }
        }
        if let report {
            do throws(SystemError) {
                try report.file.finish(RunReportPage(record).html)
            } catch {
                problems.append(Self.problem(report.path, "report", error))
            }
        }
        return problems
    }

    /// Discards the files, and leaves nothing behind.
    func abandon() {
        trace?.file.abandon()
        report?.file.abandon()
    }
}
