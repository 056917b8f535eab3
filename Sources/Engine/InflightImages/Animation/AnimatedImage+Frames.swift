public import InflightConcurrency

extension AnimatedImage {
    /// The number of times to play an animation.
    public enum Loops: Sendable, Hashable {
        /// As often as the file says: ``AnimatedImage/Info/loopCount``.
        case asStored
        /// Without end.
        case forever
        /// That many times; never for 0 or less.
        case times(Int)
    }

    /// Returns a sequence that delivers each frame at its time: see ``Frames``.
    ///
    /// Each iterator plays from the first frame.
    ///
    /// - Parameters:
    ///   - clock: the clock for the frame times; if nil, that of the pipeline or registry that opened the animation.
    ///   - loops: how often to play. A still, or an animation of one frame, is delivered at most once.
    ///   - skipsLate: whether to skip frames whose time has passed before they can be delivered.
    public func frames(
        on clock: (any EngineClock)? = nil, loops: Loops = .asStored, skipsLate: Bool = false
    ) -> Frames {
        let rounds: Int? =
            switch loops {
            case .asStored: info.loopCount
            case .forever: nil
            case .times(let count): count
            }
        return Frames(image: self, clock: clock ?? self.clock, rounds: rounds, skipsLate: skipsLate)
    }

    /// The frames of an animation, each delivered when it is due on a clock.
    ///
    /// - Order: from the first frame to the last, then again. The first is delivered as soon as it is decoded, each of
    ///   the others when the one before has been shown for its duration. The sequence ends right after the last, which
    ///   stays.
    /// - Lateness: a frame that is requested late, or decoded late, is delivered at once. If it is late by less than
    ///   its own duration, the following frames keep their times. If it is later, the following frames shift, and none
    ///   is skipped. With `skipsLate`, times never shift.
    /// - Cancellation: if the consuming task is cancelled, the sequence ends at once, without an error.
    /// - Errors: an error from decoding a frame ends the sequence.
    /// - Cost: while one frame is shown, the next are prefetched, as many as the animation's ``AnimatedImage/Buffer``
    ///   has room for. One timer per frame.
    public struct Frames: AsyncSequence, Sendable {
        public typealias Element = Frame
        public typealias Failure = LoadError

        let image: AnimatedImage
        let clock: any EngineClock
        let rounds: Int?
        let skipsLate: Bool

        public func makeAsyncIterator() -> some AsyncIteratorProtocol<Frame, LoadError> {
            Iterator(self)
        }

        struct Iterator: AsyncIteratorProtocol {
            private let sequence: Frames
            /// The frame delivered last, its round, and when it was due.
            private var last: (index: Int, round: Int, due: MonotonicTime)?
            private var hasEnded = false

            init(_ sequence: Frames) {
                self.sequence = sequence
            }

            mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async throws(LoadError) -> Frame? {
                guard !hasEnded, !Task.isCancelled, let (index, round, due) = following() else {
                    hasEnded = true
                    return nil
                }
                do throws(LoadError) {
                    let image = sequence.image
                    // Decode while waiting for the due time.
                    let frame = try await image.frame(at: index)
                    image.expect(after: index, continues: sequence.continues(after: round))
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

            public mutating func next() async throws(LoadError) -> Frame? {
                try await next(isolation: nil)
            }

            /// Returns the next frame and when it is due, or `nil` if there is none.
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

        private func continues(after round: Int) -> Bool {
            rounds.map { round + 1 < $0 } ?? true
        }

        private func place(after place: (index: Int, round: Int)) -> (index: Int, round: Int)? {
            if place.index + 1 < image.frameCount { return (place.index + 1, place.round) }
            guard image.frameCount > 1, continues(after: place.round) else { return nil }
            return (0, place.round + 1)
        }
    }
}

extension EngineClock {
    /// Waits until `deadline` and returns `true`; returns `false` at once if the surrounding task is cancelled.
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
