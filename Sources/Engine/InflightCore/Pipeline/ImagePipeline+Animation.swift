public import InflightConcurrency

extension ImagePipeline {
    /// Returns the image as an animation. A still image becomes an animation of one frame.
    ///
    /// The bytes are fetched as by ``data(for:)-(ImageRequest)``: coalesced, and through the caches. The animation is
    /// opened on one of `workers`, where its frames are decoded later. The request's size, processors and pixel limit
    /// apply to each frame. The animation retains the bytes and may outlive the pipeline. Neither it nor its frames are
    /// stored in the memory cache, and they take no slots of the decode lane.
    ///
    /// - Parameters:
    ///   - request: the request for the animation's file.
    ///   - buffer: the limits on the frames that the animation retains.
    ///   - configure: changes the decode options, for example the limits of frames.
    ///   - workers: the executor that decodes frames. It is separate from the pipeline's decode threads, so that images
    ///     that are not on screen yet do not wait for animations.
    /// - Throws: errors of ``data(for:)-(ImageRequest)`` and
    ///   ``CodecRegistry/animation(of:options:processors:buffer:clock:workers:)``; ``LoadError/Code/cancelled`` if
    ///   the surrounding task is cancelled.
    public func animation(
        for request: ImageRequest, buffer: AnimatedImage.Buffer = .init(),
        workers: any WorkExecutor = AnimatedImage.sharedWorkers,
        configure: (inout DecodeOptions) -> Void = { _ in }
    ) async throws(LoadError) -> AnimatedImage {
        let plan = try images.plan(request, goal: .data)
        var options = plan.decodeOptions()
        configure(&options)
        let (outcome, isShared) = try await outcome(of: request, goal: .data)
        let response = try outcome.response(isShared: isShared).get()
        let wanted = options
        let result = await ValueBridge<Result<AnimatedImage, LoadError>>.value { bridge in
            workers.run { [codecs = engine.codecs(named: request.decoder), clock = engine.clock] in
                do throws(LoadError) {
                    let image = try codecs.animation(
                        of: response.body, options: wanted, processors: request.processors, buffer: buffer,
                        clock: clock, workers: workers, url: plan.url.string)
                    bridge.open(with: .success(image))
                } catch {
                    let named = error.naming(response.head)
                    bridge.open(with: .failure(named.about(url: plan.url.string)))
                }
            }
        }
        if Task.isCancelled { throw .cancelled(url: plan.url.string, stage: .decode) }
        return try result.get()
    }
}
