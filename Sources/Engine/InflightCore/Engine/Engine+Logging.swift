// What the log is told.

extension Engine {
    func logged(_ step: JobStep) {
        switch step.event {
        case .succeeded: log(.debug, "job succeeded") { step.job.logFields }
        case .failed:
            let error = step.job.result?.error
            log(error?.code == .cancelled ? .debug : .error, "job failed") {
                step.job.logFields + [("error", error?.description ?? "")]
            }
        // Whoever said so knows why, and has told it.
        case .moved, .slept, .woke: break
        }
    }

    /// Tells the log hook, if there is one; else nothing is made for it.
    @inline(__always)
    func log(_ level: LogEntry.Level, _ message: String, _ fields: () -> [(name: String, value: String)]) {
        guard let log = hooks.log else { return }
        log(LogEntry(level, message, fields()))
    }
}
