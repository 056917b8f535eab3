public import InflightConcurrency

/// How often an animation is shown.
public enum AnimationLoops: Sendable, Hashable {
    /// As often as its file says.
    case asStored
    case forever
    /// That often; not at all for 0.
    case times(Int)
}

extension AnimatedImage {
    /// Each frame at its time.
    ///
    /// - Parameters:
    ///   - clock: tells the times; `nil`: that of the pipeline, or the system's.
    ///   - loops: how often; a still, or an animation of one frame, is given once.
    ///   - skipsLate: whether frames are left out whose time is over before they can be given.
    public func frames(
        on clock: (any EngineClock)? = nil, loops: AnimationLoops = .asStored, skipsLate: Bool = false
    ) -> AnimationFrames {
        let rounds: Int? =
            switch loops {
            case .asStored: info.loopCount
            case .forever: nil
            case .times(let count): count
            }
        return AnimationFrames(image: self, clock: clock ?? self.clock, rounds: rounds, skipsLate: skipsLate)
    }
}

/// The frames of an animation, each when its time has come on a clock.
///
/// - Order: from the first frame to the last, then again. The first is given as soon as it is made; each of the others when
///   the one before was shown for its duration. After the last nothing is waited for: it stays.
/// - Lateness: a frame that is asked for late, or made late, is given at once. Less than its own duration late, those that
///   follow keep their times; later than that, the times of those that follow move, and none is left out. Where late
///   frames are to be skipped times never move.
/// - Cancellation: the sequence ends, without an error and at once, where the task that goes through it is cancelled.
/// - Errors: what making a frame throws ends the sequence.
/// - Cost: frames are made ahead while one is shown, as many as the animation's ``AnimatedImage/Buffer`` has room for. One
///   timer for each frame.
public struct AnimationFrames: AsyncSequence, Sendable {
    public typealias Element = AnimationFrame
    public typealias Failure = LoadError

    let image: AnimatedImage
    let clock: any EngineClock
    let rounds: Int?
    let skipsLate: Bool

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(self)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let sequence: AnimationFrames
        /// The frame that was given last, in which round, and when it was due.
        private var last: (index: Int, round: Int, due: MonotonicTime)?
        private var hasEnded = false

        init(_ sequence: AnimationFrames) {
            self.sequence = sequence
        }

        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(LoadError) -> AnimationFrame? {
            guard !hasEnded, !Task.isCancelled, let (index, round, due) = following() else {
                hasEnded = true
                return nil
            }
            do throws(LoadError) {
                let image = sequence.image
                // Made while it is waited for.
                let frame = try await image.frame(at: index)
                image.expect(after: index, goesOn: sequence.goesOn(after: round))
                if let due, await !sequence.clock.sleep(until: due) {
                    hasEnded = true
                    return nil
                }
                let now = sequence.clock.now()
                var begins = due ?? now
                if !sequence.skipsLate, now - begins >= frame.duration { begins = now }
                last = (index, round, begins)
                return frame
            } catch {
                hasEnded = true
                if error.code == .cancelled, Task.isCancelled { return nil }
                throw error
            }
        }

        public mutating func next() async throws(LoadError) -> AnimationFrame? {
            try await next(isolation: nil)
        }

        /// The frame to give, and when; `nil` where there is none any more.
        private func following() -> (index: Int, round: Int, due: MonotonicTime?)? {
            let durations = sequence.image.info.durations
            guard let last else { return sequence.rounds.map { $0 < 1 } == true ? nil : (0, 0, nil) }
            guard var place = sequence.place(after: (last.index, last.round)) else { return nil }
            var due = last.due + durations[last.index]
            guard sequence.skipsLate else { return (place.index, place.round, due) }
            let now = sequence.clock.now()
            while due + durations[place.index] <= now, let later = sequence.place(after: place) {
                due = due + durations[place.index]
                place = later
            }
            return (place.index, place.round, due)
        }
    }

    private func goesOn(after round: Int) -> Bool {
        rounds.map { round + 1 < $0 } ?? true
    }

    private func place(after place: (index: Int, round: Int)) -> (index: Int, round: Int)? {
        if place.index + 1 < image.frameCount { return (place.index + 1, place.round) }
        guard image.frameCount > 1, goesOn(after: place.round) else { return nil }
        return (0, place.round + 1)
    }
}

extension EngineClock {
    /// Returns when that moment has come, with `true`; or at once with `false`, where the surrounding task is cancelled.
    fileprivate func sleep(until deadline: MonotonicTime) async -> Bool {
        if Task.isCancelled { return false }
        guard now() < deadline else { return true }
        let bridge = Bridge()
        let timer = schedule(at: deadline) { bridge.open() }
        await withTaskCancellationHandler {
            await bridge.wait()
        } onCancel: {
            bridge.open()
        }
        timer.cancel()
        return !Task.isCancelled
    }
}
