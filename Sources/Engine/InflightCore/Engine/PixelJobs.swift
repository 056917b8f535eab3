import InflightConcurrency

/// A job that works on pixels, on one of the engine's decoding threads.
// Unchecked: `flag` is accessed only while the job's stripe of locks is held. The input is written before the machine
// lets the job start, with the engine's lock taken in between.
class PixelJob: EngineJob, @unchecked Sendable {
    final let plan: RequestPlan
    /// Created on first use, because most jobs are queued for a long time and never cancelled.
    private var flag: CancellationFlag?

    init(engine: Engine, id: ID, plan: RequestPlan) {
        self.plan = plan
        super.init(engine: engine, id: id)
    }

    final var cancellation: CancellationFlag {
        LockStripes.stripe(for: self).lock.withLock {
            if let flag { return flag }
            let made = CancellationFlag()
            flag = made
            return made
        }
    }

    /// Until the job has ended, `result` holds its input.
    final override func feed(_ result: JobResult) {
        self.result = result
    }

    override func start(priority: LoadPriority) {
        engine.workers.run { self.run() }
    }

    override func cancel() {
        cancellation.cancel()
    }

    /// Does the work, and reports its end.
    final func run() {
        guard let input = result.take() else { preconditionFailure("a pixel job without input") }
        let isOfStored = input.value.isStoredResponse
        do throws(LoadError) {
            let cancellation = cancellation
            if cancellation.isCancelled { throw .cancelled(url: plan.url.string, stage: .decode) }
            let image = try work(on: input.value, cancellation: cancellation)
            tell(did(image.pixels))
            keepProcessed(image, appliedProcessors)
            engine.jobEnded(self, with: JobResult(.image(image), isFollowed: input.isFollowed), cachedAs: key)
        } catch {
            if error.rejectsBody, case .response(let response) = input.value { engine.reject(response.entry) }
            let isUseless = isOfStored && error.rejectsBody
            engine.jobEnded(
                self, with: JobResult(.failure(error.about(url: plan.url.string)), isOfStored: isUseless))
        }
    }

    private func did(_ pixels: PixelBuffer) -> PipelineEvent.Kind {
        self is DecodeJob
            ? .decoded(width: pixels.width, height: pixels.height)
            : .processed(width: pixels.width, height: pixels.height)
    }

    /// Stores the image, if a direct subscriber wants exactly this image stored.
    private func keepProcessed(_ image: LoadedImage, _ count: Int) {
        // An image that came from the store unchanged is there already.
        guard count > plan.firstProcessor || !plan.isProcessedLookUp, let storable = image.storable, !image.isStale,
            !image.isIncomplete, let options = engine.storedOptions(id)
        else { return }
        engine.keepProcessed(image, by: plan, count, of: storable, options)
    }

    final override var logFields: [(name: String, value: String)] {
        [("job", self is DecodeJob ? "decode" : "process"), ("url", plan.url.string)]
    }

    var key: JobKey? { nil }
    /// The number of the request's processors that made this job's image.
    var appliedProcessors: Int { plan.firstProcessor }

    func work(on input: JobResult.Value, cancellation: CancellationFlag) throws(LoadError) -> LoadedImage {
        preconditionFailure("a job without work was started")
    }
}

/// Applies one processor to the image of the step before.
// Unchecked: it adds no mutable state.
final class ProcessJob: PixelJob, @unchecked Sendable {
    private let position: Int

    /// - Parameter position: the index of the processor in the plan.
    init(engine: Engine, id: ID, plan: RequestPlan, position: Int) {
        self.position = position
        super.init(engine: engine, id: id, plan: plan)
    }

    override var key: JobKey? {
        plan.memoryKey(at: position + 1, harmlessFields: engine.harmlessFields)
    }

    override var appliedProcessors: Int { plan.firstProcessor + position + 1 }

    override func work(
        on input: JobResult.Value, cancellation: CancellationFlag
    ) throws(LoadError) -> LoadedImage {
        guard case .image(var image) = input else { preconditionFailure("a processor was started without an image") }
        let pixels = try plan.request.processors[appliedProcessors - 1].process(
            image.pixels, cancellation: cancellation)
        // A processor may return another pixel format. The result has the requested one.
        image.pixels = pixels.inForm(of: plan.decodeOptions())
        return image
    }
}

extension LoadError {
    static func cancelled(url: String?, stage: Stage) -> LoadError {
        LoadError(.cancelled, stage: stage, url: url, message: "The load was cancelled.")
    }
}
