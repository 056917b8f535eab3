import Dispatch
import Inflight
import InflightConcurrency
import InflightCore

/// The progress line.
extension GetRun {
    func startTicking() {
        timer = clock.schedule(at: clock.now() + .milliseconds(100)) { [weak self] in
            guard let self else { return }
            queue.async { [self] in
                guard !hasEnded else { return }
                console.show(progress)
                startTicking()
            }
        }
    }

    var progress: ProgressLine.State {
        let totals = reporter.totals
        let inFlight = live.values.reduce(Int64(0)) { $0 + $1.receivedBytes }
        return ProgressLine.State(
            done: totals.done, failed: totals.failed, requested: totals.requested + arguments.count,
            isOpen: list.map { !$0.isAtEnd } ?? false, bytes: totals.receivedBytes + inFlight,
            elapsed: clock.now() - start)
    }
}
