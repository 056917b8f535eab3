// Logging.

extension Engine {
    func logged(_ step: JobStep) {
        switch step.event {
        case .succeeded: log(.debug, "job succeeded") { step.job.logFields }
        case .failed:
            let error = step.job.result?.error
            log(error?.code == .cancelled ? .debug : .error, "job failed") {
                step.job.logFields + [("error", error?.description ?? "")]
            }
        // The code that caused the event has logged it.
        case .moved, .slept, .woke: break
        }
    }

    /// Calls the log hook, if any. Without one, the fields are not built.
    @inline(__always)
    func log(_ level: LogEntry.Level, _ message: String, _ fields: () -> [(name: String, value: String)]) {
        guard let log = hooks.log else { return }
        log(LogEntry(level, message, fields()))
    }
}
