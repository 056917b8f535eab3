import InflightConcurrency

/// The shell around a ``FrameMachine``. It guards the machine with a lock, makes frames on an executor, and resumes
/// waiters after releasing the lock.
final class FrameScheduler: Sendable {
    typealias Waiter = ValueBridge<Result<AnimatedImage.Frame, LoadError>>

    // Unchecked: accessed only while the lock around it is held.
    private final class State: @unchecked Sendable {
        var machine: FrameMachine<AnimatedImage.Frame, Waiter>
        /// The cancellation flag of the frame being made.
        var flag = CancellationFlag()

        init(_ machine: FrameMachine<AnimatedImage.Frame, Waiter>) {
            self.machine = machine
        }
    }

    private let state: Guarded<State>
    // Used by one job at a time, as the machine ensures. The lock is taken between two jobs.
    nonisolated(unsafe) private let renderer: any FrameRendering
    private let durations: [Duration]
    private let workers: any WorkExecutor
    private let processors: [ImageProcessor]
    private let options: DecodeOptions
    private let url: String?

    init(
        renderer: sending any FrameRendering, durations: [Duration], buffer: AnimatedImage.Buffer,
        workers: any WorkExecutor,
        processors: [ImageProcessor], options: DecodeOptions, url: String?
    ) {
        state = Guarded(State(FrameMachine(maximumFrames: buffer.frames, maximumCost: buffer.bytes)))
        unsafe self.renderer = renderer
        self.durations = durations
        self.workers = workers
        self.processors = processors
        self.options = options
        self.url = url
    }

    func request(_ index: Int, _ waiter: Waiter) {
        let frame = state.withLock { state -> AnimatedImage.Frame? in
            guard case .frame(let frame) = state.machine.requested(index, by: waiter) else { return nil }
            return frame
        }
        if let frame { waiter.open(with: .success(frame)) } else { startNext() }
    }

    /// Resumes the waiter at once, whatever the job does.
    func cancel(_ index: Int, _ waiter: Waiter) {
        let flag = state.withLock { $0.machine.left(index, waiter) ? $0.flag : nil }
        flag?.cancel()
        waiter.open(with: .failure(.cancelled(url: url, stage: .decode)))
    }

    func expect(_ indices: [Int]) {
        state.withLock { $0.machine.predicted(indices) }
        startNext()
    }

    func close() {
        let flag = state.withLock { $0.machine.closed() ? $0.flag : nil }
        flag?.cancel()
    }

    /// The number of retained frames, and their cost in bytes.
    var held: (count: Int, bytes: Int) {
        state.withLock { ($0.machine.heldIndices.count, $0.machine.heldCost) }
    }

    private func startNext() {
        let work = state.withLock { state -> (Int, CancellationFlag)? in
            guard let index = state.machine.next() else { return nil }
            state.flag = CancellationFlag()
            return (index, state.flag)
        }
        guard let (index, flag) = work else { return }
        workers.run { self.make(index, flag) }
    }

    /// Releases the evicted frames here, with no lock held, before waiters are resumed and request more.
    private func hold(_ frame: AnimatedImage.Frame, cost: Int) -> [Waiter] {
        let (waiters, released) = state.withLock { $0.machine.made(frame, cost: cost) }
        withExtendedLifetime(released) {}
        return waiters
    }

    private func make(_ index: Int, _ flag: CancellationFlag) {
        do throws(LoadError) {
            var pixels = try unsafe renderer.frame(at: index, cancellation: flag)
            if !processors.isEmpty {
                pixels = try pixels.processed(by: processors, cancellation: flag).inFormat(of: options)
            }
            let frame = AnimatedImage.Frame(index: index, pixels: pixels, duration: durations[index])
            for waiter in hold(frame, cost: pixels.byteCount) { waiter.open(with: .success(frame)) }
        } catch {
            let named = url.map { error.about(url: $0) } ?? error
            for waiter in state.withLock({ $0.machine.failed() }) { waiter.open(with: .failure(named)) }
        }
        startNext()
    }
}
