import InflightConcurrency

/// Makes pixels of the bytes that a fetch gave: when there is memory for it, within its time.
// Unchecked: `memory` is touched by the job's work alone, before it waits and after.
final class DecodeJob: PixelJob, @unchecked Sendable {
    /// What it has taken of the budget.
    private var memory = 0

    override init(engine: Engine, id: ID, plan: RequestPlan) {
        super.init(engine: engine, id: id, plan: plan)
    }

    override var key: JobKey? { plan.memoryKey(at: 0, harmlessFields: engine.harmlessFields) }

    override func start(priority: LoadPriority) {
        engine.workers.run { [self] in
            // What is wrong with the bytes the decode itself will tell.
            memory = (try? needed()) ?? 0
            let wanted = memory
            switch engine.takeMemory(wanted, for: self, priority: priority) {
            case .taken: runWithMemory()
            case .waits:
                tell(.waitsForMemory(bytes: wanted))
                // A change that came before it waited did not find it there.
                reprioritize(priority)
                // A cancel that came before it waited did not find it there.
                if cancellation.isCancelled { cancel() }
            case .refused:
                let error = PictureError.tooMuchMemory(memory, allowed: engine.maximumDecodeMemory)
                memory = 0
                engine.jobEnded(self, with: JobResult(.failure(error.about(url: plan.url.string))))
            }
        }
    }

    override func reprioritize(_: LoadPriority) {
        passPriorityOn { engine.moveInMemoryQueue(self, to: $0) }
    }

    override func cancel() {
        super.cancel()
        if engine.giveUpMemory(for: self) {
            memory = 0
            engine.jobEnded(self, with: JobResult(.failure(.cancelled(url: plan.url.string, stage: .decode))))
        }
    }

    /// There is memory for it now. On one of the decoding threads.
    func runWithMemory() {
        let taken = memory
        run()
        engine.giveBackMemory(taken)
    }

    private func needed() throws(LoadError) -> Int {
        guard case .response(let response)? = result?.value else { return 0 }
        return try engine.codecs.memoryNeeded(response.body, options: plan.decodeOptions())
    }

    override func work(
        on input: JobResult.Value, cancellation: CancellationFlag
    ) throws(LoadError) -> LoadedImage {
        switch input {
        case .response(let response):
            do throws(LoadError) {
                return try engine.withinDecodeTime(cancellation) { () throws(LoadError) in
                    try decode(response, cancellation)
                }
            } catch {
                throw error.naming(contentType: response.head.fields["content-type"])
            }
        // From a source: there is nothing to decode.
        case .image(let image): return image.fitted(to: plan.decodeOptions())
        case .info, .failure: preconditionFailure("a decode was started without bytes")
        }
    }

    private func decode(
        _ response: LoadedResponse, _ cancellation: CancellationFlag
    ) throws(LoadError) -> LoadedImage {
        let options = plan.decodeOptions()
        do throws(LoadError) {
            let (pixels, info) = try engine.codecs.decode(response.body, options: options, cancellation: cancellation)
            return image(pixels, info, response)
        } catch {
            // What was stored may be the store's fault, or an older one's: it is fetched again.
            let isStored = response.source == .disk || response.source == .revalidated
            guard error.code == .damaged, plan.request.acceptsIncomplete, !isStored,
                let (part, info) = try? engine.codecs.decodePart(
                    response.body, options: options, cancellation: cancellation)
            else { throw error }
            engine.reject(response.entry)
            var incomplete = image(part.pixels, info, response)
            incomplete.isIncomplete = true
            return incomplete
        }
    }

    private func image(_ pixels: PixelBuffer, _ info: ImageInfo, _ response: LoadedResponse) -> LoadedImage {
        var image = LoadedImage(
            pixels: pixels, info: info, head: response.head, url: response.url,
            bodyBytes: Int64(response.body.count), wireBytes: response.wireBytes, source: response.source)
        image.isStale = response.isStale
        image.storable = response.storable
        // Nobody wanted an image when the response came: how long it is fresh was not noted.
        image.lifetime = response.lifetime ?? (response.head.version == .none ? nil : .expired)
        if plan.request.keepsMetadata {
            // What is wrong with it takes nothing from the pixels.
            image.metadata = (try? engine.codecs.metadata(of: response.body)) ?? ImageMetadata()
        }
        return image
    }
}
