import InflightConcurrency

/// A job that works on pixels, on one of the pipeline's decoding threads.
// Unchecked: `flag` is accessed only while the job's stripe of locks is held. The input is written before the machine
// lets the job start, with the scheduler's lock taken in between.
class PixelJob: EngineJob, @unchecked Sendable {
    final let stage: DecodeStage
    final let plan: RequestPlan
    /// Created on first use, because most jobs are queued for a long time and never cancelled.
    private var flag: CancellationFlag?

    init(stage: DecodeStage, id: ID, plan: RequestPlan) {
        self.stage = stage
        self.plan = plan
        super.init(id: id)
    }

    final override var scheduler: Scheduler { stage.scheduler }

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

    override func start(priority: ImageRequest.Priority) -> JobStep? {
        stage.workers.run { self.run() }
        return nil
    }

    override func cancel() {
        cancellation.cancel()
    }

    /// Does the work, and reports its end.
    final func run() {
        guard let input = result.take() else { preconditionFailure("a pixel job without input") }
        let isFromStore = input.value.isStoredResponse
        do throws(LoadError) {
            let cancellation = cancellation
            if cancellation.isCancelled { throw .cancelled(url: plan.url.string, stage: .decode) }
            let image = try work(on: input.value, cancellation: cancellation)
            emit(outcome(image.pixels))
            store(image)
            // Processors may compute their identity here, so the key is made with no lock held.
            if let key = plan.memoryPlan(stage.images.fieldsExcludedFromKey)?.imageKey(appliedProcessors),
                stage.images.mayStore(image), scheduler.read({ $0.hasTasks(id) })
            {
                stage.images.store(image, for: key)
            }
            scheduler.jobEnded(self, with: JobResult(.image(image), isBeingRevalidated: input.isBeingRevalidated))
        } catch {
            if error.rejectsBody, case .response(let response) = input.value { stage.storage.reject(response.entry) }
            let isUseless = isFromStore && error.rejectsBody
            scheduler.jobEnded(
                self, with: JobResult(.failure(error.about(url: plan.url.string)), isFromStore: isUseless))
        }
    }

    private func outcome(_ pixels: PixelBuffer) -> ImagePipeline.Event.Kind {
        self is DecodeJob
            ? .decoded(width: pixels.width, height: pixels.height)
            : .processed(width: pixels.width, height: pixels.height)
    }

    /// Stores the image, if a direct subscriber wants exactly this image stored.
    private func store(_ image: LoadedImage) {
        let count = appliedProcessors
        // An unchanged image from the store is already stored.
        guard count > plan.firstProcessor || !plan.isProcessedLookUp, let storable = image.storable, !image.isStale,
            !image.isIncomplete
        else { return }
        let wanted = scheduler.read { machine in
            var options: EncodeOptions?
            machine.forEachOwnTask(of: id) { task in options = options ?? task.storedRepresentation.processedOptions }
            return options
        }
        if let wanted { stage.store(image, by: plan, count, of: storable, wanted) }
    }

    final override var logFields: [(name: String, value: String)] {
        [("job", self is DecodeJob ? "decode" : "process"), ("url", plan.url.string)]
    }

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
    init(stage: DecodeStage, id: ID, plan: RequestPlan, position: Int) {
        self.position = position
        super.init(stage: stage, id: id, plan: plan)
    }

    override var appliedProcessors: Int { plan.firstProcessor + position + 1 }

    override func work(
        on input: JobResult.Value, cancellation: CancellationFlag
    ) throws(LoadError) -> LoadedImage {
        guard case .image(var image) = input else { preconditionFailure("a processor was started without an image") }
        let pixels = try plan.request.processors[appliedProcessors - 1].process(
            image.pixels, cancellation: cancellation)
        // A processor may return another pixel format. The result has the requested one.
        image.pixels = pixels.inFormat(of: plan.decodeOptions())
        return image
    }
}
