public import InflightConcurrency

extension AnimatedImage {
    /// One composed frame of an animation, as displayed at its time, at the requested size.
    public struct Frame: Sendable {
        /// The frame's index, from 0.
        public var index: Int
        /// The whole canvas with this frame on it, upright, at the requested size, after the processors.
        public var pixels: PixelBuffer
        /// The time for which the frame is shown.
        public var duration: Duration

        /// Creates a frame.
        public init(index: Int, pixels: PixelBuffer, duration: Duration) {
            self.index = index
            self.pixels = pixels
            self.duration = duration
        }
    }
}

/// An animation that decodes its frames on demand: single ones, or all in sequence.
///
/// ```swift
/// let image = try await pipeline.animation(for: request)
/// for try await frame in image { view.show(frame.pixels) }      // each at its time, as often as the file says
/// let poster = try await image.frame(at: 7)
/// ```
///
/// - Thread: any. Frames are decoded on threads of the executor, one at a time per animation, never on the caller's.
/// - Order: requested frames in the order of the requests, then those that a sequence will need next. Concurrent
///   requests for the same frame are coalesced.
/// - Cancellation: a cancelled caller returns at once. A frame's decode is cancelled when its last caller leaves.
///   Releasing the animation cancels prefetching.
/// - Memory: the file's bytes; at most ``Buffer/frames`` frames and ``Buffer/bytes`` bytes of them beside those that
///   callers retain; from the first frame on, the canvas; during a decode, one frame as stored and the part of the
///   canvas to restore after it.
/// - Cost: playing forwards decodes each frame once. Seeking backwards starts at the nearest frame that does not depend
///   on earlier ones, which may be the first. So do two players of one animation that are far apart.
/// - Errors: ``LoadError/Code/damaged`` if a frame's data are corrupt; other frames may be intact.
public final class AnimatedImage: Sendable, AsyncSequence {
    /// The limits on the frames that the animation retains beside those that callers retain.
    public struct Buffer: Sendable, Hashable {
        /// The maximum number of frames: the one requested last, and others as room for prefetching. 0 retains none.
        public var frames: Int
        /// The maximum memory of the retained frames' pixels, in bytes. A larger frame is not retained.
        public var bytes: Int

        /// Creates limits: 4 frames and 64 MiB by default.
        public init(frames: Int = 4, bytes: Int = 64 << 20) {
            self.frames = frames
            self.bytes = bytes
        }
    }

    public typealias Element = Frame
    public typealias Failure = LoadError

    /// The properties of the whole animation, known without decoding.
    public let info: Info
    let clock: any EngineClock
    let scheduler: FrameScheduler
    private let bufferFrames: Int

    /// The default executor: a few threads that decode the frames of all animations in this process.
    public static let sharedWorkers: any WorkExecutor = WorkerThreads(
        count: MachineSize.processors, name: "inflight-frames")

    init(
        _ info: Info, renderer: sending any FrameRendering, buffer: Buffer, clock: any EngineClock,
        workers: any WorkExecutor, processors: [ImageProcessor], options: DecodeOptions, url: String?
    ) {
        self.info = info
        self.clock = clock
        bufferFrames = buffer.frames
        scheduler = FrameScheduler(
            renderer: renderer, durations: info.durations, buffer: buffer, workers: workers, processors: processors,
            options: options, url: url)
    }

    deinit {
        scheduler.close()
    }

    /// The number of frames, at least 1.
    public var frameCount: Int { info.frameCount }

    /// Returns one frame, whichever frames were requested before.
    ///
    /// A retained frame is returned without decoding. Otherwise it is decoded on the executor, after frames that were
    /// requested earlier, together with earlier frames on which it depends.
    ///
    /// - Parameter index: the frame's index, from 0.
    /// - Throws: ``LoadError/Code/invalidRequest`` if the frame does not exist, ``LoadError/Code/cancelled`` as soon as
    ///   the surrounding task is cancelled, and the errors of decoding and processing the frame.
    public func frame(at index: Int) async throws(LoadError) -> Frame {
        guard (0..<frameCount).contains(index) else {
            throw LoadError(
                .invalidRequest, stage: .decode,
                message: "The animation has no frame \(index). Request a frame from 0 to \(frameCount - 1).")
        }
        let waiter = FrameScheduler.Waiter()
        let result = await withTaskCancellationHandler {
            scheduler.request(index, waiter)
            // A cancellation before `request` found no waiter to remove, so remove the waiter here.
            if Task.isCancelled { scheduler.cancel(index, waiter) }
            return await waiter.value()
        } onCancel: {
            scheduler.cancel(index, waiter)
        }
        return try result.get()
    }

    /// Prefetches the frames that a sequence at `index` will need next, as far as the buffer has room.
    func expect(after index: Int, continues: Bool) {
        let count = Swift.min(bufferFrames, frameCount) - 1
        guard count > 0 else { return }
        let following = (index + 1...index + count).compactMap { next in
            next < frameCount ? next : (continues ? next % frameCount : nil)
        }
        scheduler.expect(following)
    }

    /// Returns an iterator that delivers each frame at its time on the pipeline's clock, as often as the file says:
    /// ``frames(on:loops:skipsLate:)``.
    public func makeAsyncIterator() -> Frames.AsyncIterator {
        frames().makeAsyncIterator()
    }
}

extension AnimatedImage {
    /// The properties of a whole animation, read without decoding.
    public struct Info: Sendable, Hashable {
        /// The format of the file.
        public var format: ImageFormat
        /// The width of the canvas in pixels as displayed, with the orientation applied, before any resizing.
        public var width: Int
        /// The height of the canvas in pixels as displayed, with the orientation applied, before any resizing.
        public var height: Int
        /// The number of times to play all frames; `nil` for endless repetition.
        public var loopCount: Int?
        /// The time for which each frame is shown, in the order of the frames; one of zero for a still.
        public var durations: [Duration]
        /// Whether the file is truncated. Then only the complete frames remain.
        public var isCutShort: Bool

        /// Creates the properties of an animation.
        ///
        /// - Parameters:
        ///   - format: the format of the file.
        ///   - width: the width of the canvas in pixels as displayed.
        ///   - height: the height of the canvas in pixels as displayed.
        ///   - loopCount: the number of times to play all frames; `nil` for endless repetition.
        ///   - durations: the time for which each frame is shown.
        ///   - isCutShort: whether the file is truncated.
        public init(
            format: ImageFormat, width: Int, height: Int, loopCount: Int?, durations: [Duration],
            isCutShort: Bool = false
        ) {
            self.format = format
            self.width = width
            self.height = height
            self.loopCount = loopCount
            self.durations = durations
            self.isCutShort = isCutShort
        }

        /// The number of frames: that of ``durations``.
        public var frameCount: Int { durations.count }

        /// The time to play all frames once. Each access adds up all ``durations``.
        public var duration: Duration { durations.reduce(.zero, +) }
    }
}

extension Duration {
    /// Returns the display time of a frame from the milliseconds in its file. Up to 10 become 100, as in browsers,
    /// because old files say zero without meaning it. Chromium and WebKit do so in
    /// `ImageRequest.Source::frameDurationAtIndex` (WebKit bug 36082), after Firefox's example.
    package static func frame(milliseconds: Int) -> Duration {
        .milliseconds(milliseconds <= 10 ? 100 : milliseconds)
    }
}
