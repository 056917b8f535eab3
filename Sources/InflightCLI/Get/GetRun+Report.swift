import Inflight
import InflightCore

/// The file of `--report`.
extension GetRun {
    /// Writes what is known by now.
    ///
    /// - Returns: whether it is there, where it was asked for.
    func writeReport() -> Bool {
        guard let report, let recorder, let path = options.report else { return true }
        let command = ShownCommand.text((try? CommandLineTool.arguments()) ?? [])
        do throws(SystemError) {
            try report.finish(RunReportPage(recorder.record(command: command, end: clock.now())).html)
            return true
        } catch {
            narrator.warn(Self.cannotWriteReport(path, error))
            return false
        }
    }

    static func cannotWriteReport(_ path: String, _ error: SystemError) -> String {
        "The report \(path.quoted) cannot be written: \(error.text). Give --report another file."
    }
}
