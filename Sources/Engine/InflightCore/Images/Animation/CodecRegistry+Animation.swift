public import InflightConcurrency

extension CodecRegistry {
    /// Opens a whole animation, or a still as one of one frame. Walks its structure and decodes nothing, so it costs time
    /// in proportion to the bytes, on the caller's thread.
    ///
    /// - Parameters:
    ///   - options: the size that is wanted, and the limits: what has too many frames, or pixels, is refused before memory
    ///     is taken.
    ///   - processors: applied to each frame.
    ///   - clock: tells the times of the frames.
    ///   - workers: where frames are made.
    /// - Throws: ``LoadError/Code/tooManyFrames``, ``LoadError/Code/tooManyPixels``, and what ``info(of:page:)`` throws.
    public func animation(
        of bytes: Bytes, options: DecodeOptions = DecodeOptions(), processors: [ImageProcessor] = [],
        buffer: AnimatedImage.Buffer = .init(), clock: any EngineClock = SystemClock(),
        workers: any WorkExecutor = AnimatedImage.sharedWorkers
    ) throws(LoadError) -> AnimatedImage {
        try animation(
            of: bytes, options: options, processors: processors, buffer: buffer, clock: clock, workers: workers,
            url: nil)
    }

    func animation(
        of bytes: Bytes, options: DecodeOptions, processors: [ImageProcessor], buffer: AnimatedImage.Buffer,
        clock: any EngineClock, workers: any WorkExecutor, url: String?
    ) throws(LoadError) -> AnimatedImage {
        let (codec, format) = try decoder(for: bytes)
        // Frames are no pages: of what has those, one can be shown as a still.
        let info = try codec.info(bytes, format: format, page: options.page)
        guard let source = try codec.animation(bytes, format: format, options: options) else {
            try info.checkPixels(maximum: options.maximumPixels)
            _ = try options.storedPlan(for: info)
            return AnimatedImage(
                AnimationInfo(
                    format: format, width: info.width, height: info.height, loopCount: 1, durations: [.zero]),
                maker: StillFrame(bytes, codecs: self, options: options), buffer: buffer, clock: clock,
                workers: workers, processors: processors, options: options, url: url)
        }
        let maker = try FrameComposer(source, options: options)
        let animation = AnimationInfo(
            format: format, width: source.info.width, height: source.info.height, loopCount: source.loopCount,
            durations: source.frames.map(\.duration), isCutShort: source.isCutShort)
        return AnimatedImage(
            animation, maker: maker, buffer: buffer, clock: clock, workers: workers, processors: processors,
            options: options, url: url)
    }
}
