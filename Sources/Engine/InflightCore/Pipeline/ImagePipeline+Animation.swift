public import InflightConcurrency

extension ImagePipeline {
    /// The picture as an animation: fetched as ``data(for:)`` fetches, shared, and through the caches; opened on one of
    /// `workers`, where its frames are made later. A still comes as an animation of one frame.
    ///
    /// The request's size, its processors and its limit of pixels hold for each frame. The bytes stay in memory as long as
    /// the animation, which may outlive the pipeline; neither it nor its frames go into the memory cache, nor do they take
    /// places of decodes.
    ///
    /// - Parameters:
    ///   - configure: changes how it is decoded: its limits of frames, for example.
    ///   - workers: where frames are made: not where the pipeline decodes, so that what is seen for the first time does
    ///     not wait for what moves.
    /// - Throws: what ``data(for:)`` and ``CodecRegistry/animation(of:options:processors:buffer:clock:workers:)`` throw;
    ///   ``LoadError/Code/cancelled`` where the surrounding task is.
    public func animation(
        for request: ImageRequest, buffer: AnimatedImage.Buffer = .init(),
        workers: any WorkExecutor = AnimatedImage.sharedWorkers,
        configure: (inout DecodeOptions) -> Void = { _ in }
    ) async throws(LoadError) -> AnimatedImage {
        let plan = try RequestPlan(request, goal: .data, harmlessFields: engine.harmlessFields)
        var options = plan.decodeOptions()
        configure(&options)
        let (outcome, isShared) = try await outcome(of: request, goal: .data)
        let response = try outcome.response(isShared: isShared).get()
        let wanted = options
        let result = await ValueBridge<Result<AnimatedImage, LoadError>>.value { bridge in
            workers.run { [codecs, clock = engine.clock] in
                do throws(LoadError) {
                    let image = try codecs.animation(
                        of: response.body, options: wanted, processors: request.processors, buffer: buffer,
                        clock: clock, workers: workers, url: plan.url.string)
                    bridge.open(with: .success(image))
                } catch {
                    let named = error.naming(contentType: response.head.fields["content-type"])
                    bridge.open(with: .failure(named.about(url: plan.url.string)))
                }
            }
        }
        if Task.isCancelled { throw .cancelled(url: plan.url.string, stage: .decode) }
        return try result.get()
    }
}
