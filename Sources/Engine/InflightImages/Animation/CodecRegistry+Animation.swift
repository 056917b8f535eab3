public import InflightConcurrency

extension CodecRegistry {
    /// Opens a complete animation, or a still as an animation of one frame.
    ///
    /// Walks the structure and decodes nothing. The time is linear in the bytes, on the caller's thread.
    ///
    /// - Parameters:
    ///   - bytes: the whole file, which the animation retains.
    ///   - options: the requested size, and the limits, which are checked before allocating memory. A page other than
    ///     the first is opened as a still.
    ///   - processors: applied to each frame, in this order.
    ///   - buffer: the limits on the frames that the animation retains.
    ///   - clock: the default clock for the frame times.
    ///   - workers: the executor that decodes frames.
    /// - Throws: ``LoadError/Code/tooManyFrames``, ``LoadError/Code/tooManyPixels``, and errors of ``info(of:page:)``.
    public func animation(
        of bytes: Bytes, options: DecodeOptions = DecodeOptions(), processors: [ImageProcessor] = [],
        buffer: AnimatedImage.Buffer = .init(), clock: any EngineClock = SystemClock(),
        workers: any WorkExecutor = AnimatedImage.sharedWorkers
    ) throws(LoadError) -> AnimatedImage {
        try animation(
            of: bytes, options: options, processors: processors, buffer: buffer, clock: clock, workers: workers,
            url: nil)
    }

    package func animation(
        of bytes: Bytes, options: DecodeOptions, processors: [ImageProcessor], buffer: AnimatedImage.Buffer,
        clock: any EngineClock, workers: any WorkExecutor, url: String?
    ) throws(LoadError) -> AnimatedImage {
        let (codec, format) = try decoder(for: bytes)
        // Frames are not pages, so one page of a multi-page image is shown as a still.
        let info = try codec.info(bytes, format: format, page: options.page)
        guard let source = try codec.animation(bytes, format: format, options: options) else {
            try info.checkPixels(maximum: options.maximumPixels)
            _ = try options.storedPlan(for: info)
            return AnimatedImage(
                AnimatedImage.Info(
                    format: format, width: info.width, height: info.height, loopCount: 1, durations: [.zero]),
                renderer: StillFrame(bytes, codecs: self, options: options), buffer: buffer, clock: clock,
                workers: workers, processors: processors, options: options, url: url)
        }
        let renderer = try FrameComposer(source, options: options)
        let animation = AnimatedImage.Info(
            format: format, width: source.info.width, height: source.info.height, loopCount: source.loopCount,
            durations: source.frames.map(\.duration), isCutShort: source.isCutShort)
        return AnimatedImage(
            animation, renderer: renderer, buffer: buffer, clock: clock, workers: workers, processors: processors,
            options: options, url: url)
    }
}
