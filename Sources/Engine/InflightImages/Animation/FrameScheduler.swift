import InflightConcurrency

/// The shell around a ``FrameMachine``. It guards the machine with a lock, makes frames on an executor, and resumes
/// waiters after releasing the lock.
final class FrameScheduler: Sendable {
    typealias Waiter = ValueBridge<Result<AnimatedImage.Frame, LoadError>>

    // Unchecked: accessed only while the lock around it is held.
    private final class State: @unchecked Sendable {
        var machine: FrameMachine
        /// The cancellation flag of the frame being made.
        var flag = CancellationFlag()

        init(_ machine: FrameMachine) {
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
    private func hold(_ frame: AnimatedImage.Frame) -> [Waiter] {
        let (waiters, released) = state.withLock { $0.machine.made(frame) }
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
            for waiter in hold(frame) { waiter.open(with: .success(frame)) }
        } catch {
            let named = url.map { error.about(url: $0) } ?? error
            for waiter in state.withLock({ $0.machine.failed() }) { waiter.open(with: .failure(named)) }
        }
        startNext()
    }
}

/// Decides which frame to make next, which waiters get it, and which to retain, without locks, threads or pixels.
///
/// Makes one frame at a time: first those with waiters, in the order of the requests, then those to prefetch.
struct FrameMachine {
    typealias Frame = AnimatedImage.Frame
    typealias Waiter = FrameScheduler.Waiter

    enum Reply {
        /// The frame is retained, so the waiter was not added.
        case frame(Frame)
        case waits
    }

    private let maximumFrames: Int
    private let maximumCost: Int
    /// The retained frames, least recently used first.
    private var held: [Frame] = []
    private var waiters: [Int: [Waiter]] = [:]
    /// The frames that have waiters and are not being made, in order.
    private var wanted: [Int] = []
    /// The frames to prefetch that were not begun, each with its position in the prediction.
    private var ahead: [(place: Int, index: Int)] = []
    /// The frame being made, and whether it was stopped, in which case new waiters enqueue the frame again.
    private var making: (index: Int, isStopped: Bool)?
    /// The cost of the last frame made, as an estimate for the next.
    private var knownCost = 0

    init(maximumFrames: Int, maximumCost: Int) {
        self.maximumFrames = max(0, maximumFrames)
        self.maximumCost = maximumCost
    }

    var heldIndices: [Int] { held.map(\.index) }
    /// The bytes of the retained frames.
    var heldCost: Int { held.reduce(0) { $0 + $1.pixels.byteCount } }

    mutating func requested(_ index: Int, by waiter: Waiter) -> Reply {
        if let place = held.firstIndex(where: { $0.index == index }) {
            let found = held.remove(at: place)
            held.append(found)
            return .frame(found)
        }
        waiters[index, default: []].append(waiter)
        let isComing = making.map { $0.index == index && !$0.isStopped } ?? false
        if !isComing, !wanted.contains(index) { wanted.append(index) }
        return .waits
    }

    /// - Returns: whether to stop making the current frame, because its last waiter left.
    mutating func left(_ index: Int, _ waiter: Waiter) -> Bool {
        guard let place = waiters[index]?.firstIndex(where: { $0 === waiter }) else { return false }
        waiters[index]?.remove(at: place)
        guard waiters[index]?.isEmpty == true else { return false }
        waiters[index] = nil
        wanted.removeAll { $0 == index }
        guard let current = making, current.index == index, !current.isStopped else { return false }
        making?.isStopped = true
        return true
    }

    /// A sequence has predicted its next requests, in order. They replace the earlier prediction.
    mutating func predicted(_ indices: [Int]) {
        ahead = indices.enumerated().map { ($0, $1) }
    }

    /// The last owner has released the animation.
    ///
    /// - Returns: whether to stop making the current frame.
    mutating func closed() -> Bool {
        ahead = []
        guard let current = making, !current.isStopped else { return false }
        making?.isStopped = true
        return true
    }

    /// Returns the frame to make now, or `nil` if one is being made or none is needed.
    mutating func next() -> Int? {
        guard making == nil else { return nil }
        if !wanted.isEmpty {
            let index = wanted.removeFirst()
            making = (index, false)
            return index
        }
        // One slot is reserved for the displayed frame.
        let room = min(maximumFrames, knownCost > 0 ? maximumCost / knownCost : maximumFrames) - 1
        guard let position = ahead.firstIndex(where: { $0.place < room && !heldIndices.contains($0.index) }) else {
            return nil
        }
        let index = ahead[position].index
        // Prefetch a frame only once: making it again after its eviction is not worthwhile.
        ahead.removeFirst(position + 1)
        making = (index, false)
        return index
    }

    /// A frame was made. Returns its waiters and the evicted frames.
    mutating func made(_ frame: Frame) -> (waiters: [Waiter], released: [Frame]) {
        guard let index = making?.index else { preconditionFailure("an unrequested frame was decoded") }
        making = nil
        knownCost = frame.pixels.byteCount
        held.removeAll { $0.index == index }
        held.append(frame)
        var released: [Frame] = []
        while held.count > maximumFrames || (heldCost > maximumCost && !held.isEmpty) {
            released.append(held.removeFirst())
        }
        // Waiters that arrived after the frame was stopped are served too.
        wanted.removeAll { $0 == index }
        return (waiters.removeValue(forKey: index) ?? [], released)
    }

    /// Making a frame failed. Returns its waiters; none if it was stopped, because later ones need another attempt.
    mutating func failed() -> [Waiter] {
        guard let (index, isStopped) = making else { preconditionFailure("an unrequested frame failed") }
        making = nil
        return isStopped ? [] : waiters.removeValue(forKey: index) ?? []
    }
}
