import Inflight
import InflightCore

/// The files written when a run is over. They are opened before it begins, so that problems are known before any
/// request.
struct RunOutput: Sendable {
    /// The recorder of the trace, the report and the stories of `--verbose`.
    let recorder: RunRecorder?
    /// The log of HTTP exchanges.
    let log: HARLog?
    private let trace: Output?
    private let report: Output?
    private let har: Output?
    private let command: String

    private struct Output: Sendable {
        let option: String
        let file: AtomicFile
        let path: String

        /// - Throws: The reason why the file cannot be written.
        init(_ option: String, _ path: String) throws(CommandLineTool.Refusal) {
            self.option = option
            self.path = path
            do throws(SystemError) {
                file = try AtomicFile(path)
            } catch {
                throw CommandLineTool.Refusal(message: Self.problem(option, path, error))
            }
        }

        func problem(_ error: SystemError) -> String { Self.problem(option, path, error) }

        private static func problem(_ option: String, _ path: String, _ error: SystemError) -> String {
            "Cannot write the \(option == "har" ? "HTTP Archive" : option) \(path.quoted): \(error.text). "
                + "Choose a file in an existing, writable folder with --\(option) FILE."
        }
    }

    /// Returns `nil` if the run is not recorded.
    ///
    /// - Throws: A refusal with a remedy, if a file cannot be written.
    init?(_ options: GetOptions, arguments: [String]) throws(CommandLineTool.Refusal) {
        guard options.isRecorded || options.har != nil else { return nil }
        var outputs: [Output] = []
        do throws(CommandLineTool.Refusal) {
            for (option, path) in [("trace", options.trace), ("report", options.report), ("har", options.har)] {
                guard let path else { continue }
                let output = try Output(option, path)
                outputs.append(output)
                let other = outputs.dropLast().first { $0.file.hasPlace(of: output.file) }.map { "--\($0.option)" }
                if let other = other ?? (path == options.output ? "-o" : nil) {
                    throw CommandLineTool.Refusal(
                        message: "\(other) and --\(option) name the same file, \(path.quoted). Choose different files.",
                        status: ExitStatus.wrongUse)
                }
            }
        } catch {
            for output in outputs { output.file.abandon() }
            throw error
        }
        trace = outputs.first { $0.option == "trace" }
        report = outputs.first { $0.option == "report" }
        har = outputs.first { $0.option == "har" }
        recorder = options.isRecorded ? RunRecorder(describesLoads: options.network.isVerbose) : nil
        let fields = Set(options.network.headers.map { $0.name.lowercased() })
        log = har.map { HARLog($0.file, Redaction(fields: fields)) }
        command = RedactedText.text(arguments)
    }

    /// Whether there are files to write.
    var writesFiles: Bool { trace != nil || report != nil || har != nil }

    /// Writes all files. Call it after the pipeline's shutdown.
    ///
    /// - Returns: The problems.
    func write(limits: [ImagePipeline.Event.Lane: Int]) -> [String] {
        let needsRecord = trace != nil || report != nil
        let record = needsRecord ? recorder?.record(command: command, limits: limits) : nil
        return [
            record.flatMap { record in
                Self.problem(trace) { file throws(SystemError) in
                    try RunTrace(record).write { bytes throws(SystemError) in try file.append(bytes) }
                    try file.finish()
                }
            },
            record.flatMap { record in
                Self.problem(report) { file throws(SystemError) in try file.finish(RunReportPage(record).html) }
            },
            Self.problem(har) { _ throws(SystemError) in try log?.finish() },
        ].compactMap(\.self)
    }

    private static func problem(_ output: Output?, _ write: (AtomicFile) throws(SystemError) -> Void) -> String? {
        guard let output else { return nil }
        do throws(SystemError) {
            try write(output.file)
            return nil
        } catch {
            return output.problem(error)
        }
    }

    /// Discards the files, and leaves nothing behind.
    func abandon() {
        for output in [trace, report, har] { output?.file.abandon() }
    }
}
