public import InflightConcurrency

/// One frame of an animation, as it is seen at its time: composed, and at the size that was wanted.
public struct AnimationFrame: Sendable {
    /// From 0.
    public var index: Int
    public var pixels: PixelBuffer
    /// How long it is shown.
    public var duration: Duration

    public init(index: Int, pixels: PixelBuffer, duration: Duration) {
        self.index = index
        self.pixels = pixels
        self.duration = duration
    }
}

/// An animation whose frames are made when they are wanted: any of them, or all in their time.
///
/// ```swift
/// let image = try await pipeline.animation(for: request)
/// for try await frame in image { view.show(frame.pixels) }      // each at its time, as often as the file says
/// let poster = try await image.frame(at: 7)
/// ```
///
/// - Thread: any. Frames are made on threads of the executor, one at a time for each animation, never on the caller's.
/// - Order: frames that are waited for as they were asked for; then those that a sequence will want next. Callers who want
///   the same frame share it.
/// - Cancellation: who is cancelled stops waiting at once; the last one to leave a frame stops its making. Letting go of
///   the animation stops what is made ahead.
/// - Memory: the file's bytes; at most ``Buffer/frames`` frames and ``Buffer/bytes`` bytes of them beside those that callers
///   have; and, from the first frame on, the canvas, and while one is made a frame as it is stored, and the part of the
///   canvas that is put back behind it.
/// - Cost: forwards each frame is decoded once. Going back begins at the nearest frame that shows nothing of those before
///   it, which may be the first; so do two players of one animation that are far apart.
/// - Errors: ``LoadError/Code/damaged`` where a frame's data are broken; others may be whole.
public final class AnimatedImage: Sendable, AsyncSequence {
    /// How many frames are kept that nobody holds.
    public struct Buffer: Sendable, Hashable {
        /// The one that was asked for last among them; the others are room for those that are made ahead.
        public var frames: Int
        public var bytes: Int

        public init(frames: Int = 4, bytes: Int = 64 << 20) {
            self.frames = frames
            self.bytes = bytes
        }
    }

    public typealias Element = AnimationFrame
    public typealias Failure = LoadError

    public let info: AnimationInfo
    let clock: any EngineClock
    let workshop: FrameWorkshop
    private let bufferFrames: Int

    /// A few threads that make the frames of all animations in this process, unless they are given others.
    public static let sharedWorkers: any WorkExecutor = WorkerThreads(
        count: MachineSize.processors, name: "inflight-frames")

    init(
        _ info: AnimationInfo, maker: sending any FrameMaking, buffer: Buffer, clock: any EngineClock,
        workers: any WorkExecutor, processors: [ImageProcessor], options: DecodeOptions, url: String?
    ) {
        self.info = info
        self.clock = clock
        bufferFrames = buffer.frames
        workshop = FrameWorkshop(
            maker: maker, durations: info.durations, buffer: buffer, workers: workers, processors: processors,
            options: options, url: url)
    }

    deinit {
        workshop.close()
    }

    public var frameCount: Int { info.frameCount }

    /// One frame, whatever came before it.
    ///
    /// Throws ``LoadError/Code/invalidRequest`` where there is no such frame, ``LoadError/Code/cancelled`` as soon as the
    /// surrounding task is, and what making it throws.
    public func frame(at index: Int) async throws(LoadError) -> AnimationFrame {
        guard (0..<frameCount).contains(index) else {
            throw LoadError(
                .invalidRequest, stage: .decode,
                message: "There is no frame \(index); there are those from 0 to \(frameCount - 1).")
        }
        let waiter = FrameWorkshop.Waiter()
        let result = await withTaskCancellationHandler {
            workshop.ask(index, waiter)
            // A cancel before found nobody who waited.
            if Task.isCancelled { workshop.leave(index, waiter) }
            return await waiter.value()
        } onCancel: {
            workshop.leave(index, waiter)
        }
        return try result.get()
    }

    /// What a sequence that has come to `index` will want next: made ahead as far as there is room for it.
    func expect(after index: Int, goesOn: Bool) {
        let count = Swift.min(bufferFrames, frameCount) - 1
        guard count > 0 else { return }
        let following = (index + 1...index + count).compactMap { next in
            next < frameCount ? next : (goesOn ? next % frameCount : nil)
        }
        workshop.expect(following)
    }

    /// Each frame at its time on the clock of the pipeline, as often as the file says: ``frames(on:loops:skipsLate:)``.
    public func makeAsyncIterator() -> AnimationFrames.AsyncIterator {
        frames().makeAsyncIterator()
    }
}
