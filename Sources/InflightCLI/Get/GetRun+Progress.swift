import Dispatch
import Inflight
import InflightCore

/// The progress line.
extension GetRun {
    func startTicking() {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + .milliseconds(100), repeating: .milliseconds(100))
        timer.setEventHandler { [unowned self] in
            guard !hasEnded else { return }
            narrator.show(progress)
        }
        self.timer = timer
        timer.activate()
    }

    var progress: ProgressLine.State {
        let totals = reporter.totals
        let underWay = byID.values.reduce(Int64(0)) { $0 + $1.receivedBytes }
        return ProgressLine.State(
            done: totals.done, failed: totals.failed, asked: totals.asked + arguments.count,
            isOpen: list.map { !$0.isAtEnd } ?? false, bytes: totals.receivedBytes + underWay,
            elapsed: clock.now() - start)
    }
}
