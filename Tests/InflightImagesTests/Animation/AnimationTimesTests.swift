import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightImages

/// A clock on which waiting takes no time: it jumps to the deadline of scheduled work and runs the work at once.
private final class JumpingClock: EngineClock {
    private struct Nothing: ScheduledWork {
        func cancel() {}
    }

    private let time = Guarded(MonotonicTime.zero)

    func now() -> MonotonicTime { time.withLock { $0 } }
    func secondsSince1970() -> Double { Double(now().nanoseconds) / 1e9 }
    func jump(to moment: MonotonicTime) { time.withLock { $0 = max($0, moment) } }

    func schedule(at deadline: MonotonicTime, _ body: @escaping @Sendable () -> Void) -> any ScheduledWork {
        jump(to: deadline)
        body()
        return Nothing()
    }
}

@Suite("Animation timing", .timeLimit(.minutes(10)))
struct AnimationTimesTests {
    private let counts = Guarded(CountedFrames.Counts())
    private let clock = VirtualClock()

    private struct Shown: Equatable {
        var index: Int
        var milliseconds: Int64

        init(_ index: Int, _ milliseconds: Int64) {
            self.index = index
            self.milliseconds = milliseconds
        }
    }

    private func image(_ milliseconds: [Int], loopCount: Int? = 1, failing: Set<Int> = []) -> AnimatedImage {
        .counted(counts, milliseconds: milliseconds, loopCount: loopCount, failing: failing, clock: clock)
    }

    private func now() -> Int64 { clock.now().nanoseconds / 1_000_000 }

    /// Plays `frames`, advances the clock from timer to timer, and returns each frame with its time.
    private func play(_ frames: AnimatedImage.Frames, atMost count: Int = .max) async throws -> [Shown] {
        let clock = clock
        let player = Task {
            var shown: [Shown] = []
            for try await frame in frames {
                shown.append(Shown(frame.index, clock.now().nanoseconds / 1_000_000))
                if shown.count == count { break }
            }
            return shown
        }
        let ended = Guarded(false)
        let mover = Task {
            while !ended.withLock({ $0 }) {
                try? await clock.waitForTimers(1)
                if ended.withLock({ $0 }) { return }
                clock.advanceToNextTimer()
            }
        }
        let shown = try await player.value
        ended.withLock { $0 = true }
        // A last timer wakes the task that advances the clock.
        let last = clock.schedule(at: .distantFuture) {}
        await mover.value
        last.cancel()
        return shown
    }

    @Test("Each frame follows after the duration of the previous one, as often as the file states")
    func times() async throws {
        let shown = try await play(image([120, 100, 70], loopCount: 2).frames())
        #expect(
            shown == [
                Shown(0, 0), Shown(1, 120), Shown(2, 220), Shown(0, 290), Shown(1, 410), Shown(2, 510),
            ])
    }

    @Test("An animation loops forever, a given number of times, or not at all")
    func loops() async throws {
        let image = image([100, 50], loopCount: nil)
        #expect(try await play(image.frames(), atMost: 5).map(\.index) == [0, 1, 0, 1, 0])
        #expect(try await play(image.frames(loops: .times(2))).map(\.index) == [0, 1, 0, 1])
        #expect(try await play(image.frames(loops: .times(0))).isEmpty)
        let once = self.image([100, 50])
        #expect(try await play(once.frames(loops: .forever), atMost: 3).map(\.index) == [0, 1, 0])
    }

    @Test("A still image yields one frame whatever the loop count")
    func still() async throws {
        for loops in [AnimatedImage.Loops.asStored, .forever, .times(3)] {
            #expect(try await play(image([0]).frames(loops: loops)) == [Shown(0, now())])
        }
    }

    /// Plays an animation of 100 ms frames and spends `busy` milliseconds on each.
    private func play(
        frames count: Int, rounds: Int = 1, skipsLate: Bool, busy: (_ number: Int, _ frame: Int) -> Int
    ) async throws -> [Shown] {
        let clock = JumpingClock()
        let image = image([Int](repeating: 100, count: count), loopCount: rounds)
        var shown: [Shown] = []
        for try await frame in image.frames(on: clock, skipsLate: skipsLate) {
            shown.append(Shown(frame.index, clock.now().nanoseconds / 1_000_000))
            clock.jump(to: clock.now() + .milliseconds(busy(shown.count, frame.index)))
        }
        return shown
    }

    @Test("Late frames are shown at once without skips, and a long delay shifts the later ones")
    func late() async throws {
        let shown = try await play(frames: 6, skipsLate: false) { _, frame in [0: 130, 2: 350][frame] ?? 10 }
        // Frame 1 is late (due at 100 ms), but frame 2 keeps its time. Frame 3 is later still (due at 300 ms), and
        // shifts the frames after it.
        #expect(
            shown == [Shown(0, 0), Shown(1, 130), Shown(2, 200), Shown(3, 550), Shown(4, 650), Shown(5, 750)])
    }

    @Test("With skipping, frames whose time has passed are dropped and the others keep their times")
    func skipping() async throws {
        let shown = try await play(frames: 4, rounds: 3, skipsLate: true) { number, _ in
            [1: 350, 2: 0, 3: 290, 4: 0, 5: 900][number] ?? 10
        }
        // At 350 ms, frame 3 is due (300 to 400 ms); the second loop begins at 400 ms, the third at 800 ms. The last
        // frame of all is never skipped.
        #expect(
            shown == [
                Shown(0, 0), Shown(3, 350), Shown(0, 400), Shown(2, 690), Shown(3, 700), Shown(3, 1600),
            ])
    }

    @Test("Cancelling the task ends the sequence without an error and leaves no timer")
    func cancelled() async throws {
        let image = image([60_000, 60_000])
        let clock = clock
        let player = Task {
            var count = 0
            for try await _ in image { count += 1 }
            return count
        }
        try await clock.waitForTimers(1)
        player.cancel()
        #expect(try await player.value == 1)
        #expect(clock.timerCount == 0)
    }

    @Test("A frame that cannot be made ends the sequence with its error")
    func failing() async throws {
        let frames = image([100, 100, 100], failing: [0]).frames()
        var iterator = frames.makeAsyncIterator()
        await #expect(throws: LoadError.self) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }
}
