import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightImages

@Suite("Animation frames on demand", .timeLimit(.minutes(10)))
struct AnimatedImageTests {
    private let counts = Guarded(CountedFrames.Counts())

    private func image(
        frames: Int = 12, failing: Set<Int> = [], buffer: AnimatedImage.Buffer = .init(),
        workers: any WorkExecutor = AnimatedImage.sharedWorkers, processors: [ImageProcessor] = []
    ) -> AnimatedImage {
        .counted(
            counts, milliseconds: [Int](repeating: 50, count: frames), failing: failing, buffer: buffer,
            workers: workers, processors: processors)
    }

    @Test("Concurrent requests for the same frame are coalesced")
    func shared() async throws {
        let kept = ManualExecutor()
        let image = image(workers: kept)
        let waiters = (0..<5).map { _ in FrameScheduler.Waiter() }
        for waiter in waiters { image.scheduler.request(3, waiter) }
        #expect(kept.count == 1)
        kept.runFirst()
        for waiter in waiters { #expect(try await waiter.value().get().index == 3) }
        #expect(counts.withLock { $0.made } == [3])
        // The frame is held for later requests.
        #expect(try await image.frame(at: 3).pixels.bytes[0] == 3)
        #expect(kept.count == 0)
    }

    @Test("Concurrent requests from many threads each get the requested frame")
    func atOnce() async throws {
        let image = image(buffer: .init(frames: 2))
        let wrong = await withTaskGroup(of: Int.self) { group in
            for caller in 0..<16 {
                group.addTask {
                    var wrong = 0
                    for step in 0..<60 {
                        let index = (caller * 7 + step * (caller % 3 + 1)) % 12
                        let frame = try? await image.frame(at: index)
                        if frame?.index != index || frame?.pixels.bytes[0] != UInt8(index) { wrong += 1 }
                    }
                    return wrong
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
        #expect(image.scheduler.held.count <= 2)
    }

    @Test("A cancelled request throws at once, and a later request makes the frame again")
    func cancelled() async throws {
        let kept = ManualExecutor()
        let image = image(workers: kept)
        let task = Task { try await image.frame(at: 4) }
        await kept.wasGiven.wait()
        task.cancel()
        let error = await #expect(throws: LoadError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        // The pending job finds that it was cancelled, and the frame is made again for the new request.
        let waiter = FrameScheduler.Waiter()
        image.scheduler.request(4, waiter)
        kept.runFirst()
        kept.runFirst()
        #expect(try await waiter.value().get().index == 4)
        #expect(counts.withLock { $0.made } == [4, 4])
    }

    @Test("A task cancelled in advance throws and leaves no frame in the buffer")
    func cancelledBefore() async throws {
        let kept = ManualExecutor()
        let image = image(workers: kept)
        let begin = Bridge()
        let task = Task {
            await begin.wait()
            return try await image.frame(at: 4)
        }
        task.cancel()
        begin.open()
        await #expect(throws: LoadError.self) { try await task.value }
        kept.runFirst()
        #expect(image.scheduler.held.count == 0)
    }

    @Test("Live frames are bounded by the buffer, those in use and those being made")
    func bounded() async throws {
        // One thread: a second could make the next frame while the first still holds the frame that it has delivered.
        let worker = WorkerThreads(count: 1, name: "frames")
        let image = image(frames: 60, buffer: .init(frames: 3), workers: worker)
        for index in Array(0..<60) + [3, 50, 12] {
            let frame = try await image.frame(at: index)
            image.expect(after: index, continues: true)
            #expect(frame.index == index && image.scheduler.held.count <= 3)
        }
        #expect(counts.withLock { $0.mostAlive } <= 5)
        let small = self.image(frames: 60, buffer: .init(frames: 10, bytes: 40))
        for index in 0..<60 { _ = try await small.frame(at: index) }
        #expect(small.scheduler.held.count == 2 && small.scheduler.held.bytes == 32)
        let none = self.image(frames: 60, buffer: .init(frames: 0))
        #expect(try await none.frame(at: 7).index == 7)
        #expect(none.scheduler.held.count == 0)
    }

    @Test("A sequence prefetches the next frames and wraps around at the end of a loop")
    func ahead() async throws {
        let image = image(frames: 6, buffer: .init(frames: 4), workers: InlineExecutor())
        var frames = image.frames(loops: .times(2)).makeAsyncIterator()
        _ = try await frames.next()
        #expect(counts.withLock { $0.made } == [0, 1, 2, 3])
        image.expect(after: 4, continues: true)
        #expect(counts.withLock { $0.made } == [0, 1, 2, 3, 5, 0, 1])
        image.expect(after: 4, continues: false)
        image.expect(after: 5, continues: false)
        #expect(counts.withLock { $0.made } == [0, 1, 2, 3, 5, 0, 1])
    }

    @Test("Releasing an animation stops its prefetch")
    func released() async throws {
        let kept = ManualExecutor()
        do {
            let image = image(workers: kept)
            image.expect(after: 0, continues: true)
            #expect(kept.count == 1)
        }
        kept.runFirst()
        #expect(counts.withLock { $0.made } == [1])
        #expect(kept.count == 0 && counts.withLock { $0.alive } == 0)
    }

    @Test("A failing frame fails only its own requests, and an invalid index is rejected")
    func failure() async throws {
        let image = image(failing: [2])
        for _ in 0..<2 {
            let error = await #expect(throws: LoadError.self) { try await image.frame(at: 2) }
            #expect(error?.code == .damaged)
        }
        #expect(try await image.frame(at: 3).index == 3)
        for index in [-1, 12, .max] {
            let error = await #expect(throws: LoadError.self) { try await image.frame(at: index) }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test("Processors apply to every frame")
    func processors() async throws {
        let image = image(processors: [.resize(width: 1)])
        for index in [0, 5] { #expect(try await image.frame(at: index).pixels.width == 1) }
    }
}
