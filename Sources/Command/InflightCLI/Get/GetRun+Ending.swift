import Dispatch
import Inflight
import InflightConcurrency
import InflightCore

/// The end of a run: complete or early.
extension GetRun {
    func endIfDone() {
        guard !isEnding, arguments.isEmpty, list?.isAtEnd ?? true, live.isEmpty, pendingWork == 0 else { return }
        isEnding = true
        var status =
            reporter.totals.failed > 0 ? CommandLineTool.ExitStatus.failure : CommandLineTool.ExitStatus.success
        if let failure = list?.failure {
            console.warn("Reading the list stopped early: \(failure).")
            status = CommandLineTool.ExitStatus.noInput
        }
        end(status)
    }

    func endEarly(status: Int32) {
        guard !isEnding else { return }
        isEnding = true
        endStatus = status
        cancellation.cancel()
        list?.stop()
        // In request order, so that written files get the names that they would have had.
        for item in live.values.sorted(by: { $0.id < $1.id }) {
            if case .abandon(let load) = take(.runEnded, item) { forget(item, load) }
        }
        endIfQuiet()
    }

    /// Ends a run that was ended early, as soon as the worker threads have finished their current jobs.
    func endIfQuiet() {
        guard let endStatus, pendingWork == 0, !hasEnded else { return }
        end(endStatus)
    }

    func end(_ status: Int32) {
        guard !hasEnded else { return }
        hasEnded = true
        timer?.cancel()
        removeDrafts()
        console.clear()
        console.reportHiddenFailures()
        printLoadTexts()
        if status != CommandLineTool.ExitStatus.closedOutput {
            reporter.flush()
            summarize()
        }
        onEnd(status)
    }

    private func summarize() {
        // If the image goes to standard output, a failure has been printed already, and a summary adds nothing.
        guard !options.writesToStandardOutput || options.network.isVerbose || interruption != nil else { return }
        reporter.totals.requests = max(0, pipeline.statistics.exchanges - localLoads)
        var summary = Summary(totals: reporter.totals, elapsed: clock.now() - start)
        summary.directory = try? store?.get().shownPath
        summary.isOfAnything = options.treatment == .anything
        summary.interruption = interruption
        console.summarize(summary)
    }
}
