import Inflight
import InflightConcurrency

/// The progress line of `show`, while it waits for images of URLs that take long.
///
/// An actor: loads report from their queue, and the line must be cleared before images are written in its place.
actor ShowProgress {
    /// The line appears if loads take longer than this.
    private static let delay = Duration.milliseconds(500)
    private static let interval = Duration.milliseconds(250)

    private let console: ConsoleReporter
    private let clock = SystemClock()
    private let start: MonotonicTime
    private var state = ProgressLine.State()
    /// The number of received bytes of each load.
    private var received: [Int: Int64] = [:]
    private var isPaused = false
    private var timer: (any ScheduledWork)?

    init(_ options: NetworkOptions) {
        console = ConsoleReporter(options)
        start = clock.now()
    }

    /// A load begins. Returns its number.
    func begin() -> Int {
        state.requested += 1
        if timer == nil, console.showsProgress { tick(after: Self.delay) }
        return state.requested
    }

    /// A load has received so many bytes.
    func didReceive(_ bytes: Int64, load: Int) { received[load] = max(bytes, received[load] ?? 0) }

    /// A load has ended.
    func didEnd(isFailure: Bool) {
        state.done += 1
        if isFailure { state.failed += 1 }
    }

    /// Clears the line until ``resume()``.
    func pause() {
        isPaused = true
        console.clear()
    }

    func resume() { isPaused = false }

    /// Clears the line. It does not appear any more until a load begins.
    func stop() {
        timer?.cancel()
        timer = nil
        console.clear()
    }

    private func tick(after time: Duration) {
        timer = clock.schedule(at: clock.now() + time) { Task { await self.show() } }
    }

    private func show() {
        guard timer != nil else { return }
        if !isPaused, state.done < state.requested {
            state.bytes = received.values.reduce(0, +)
            state.elapsed = clock.now() - start
            console.show(state)
        }
        tick(after: Self.interval)
    }
}
