import InflightConcurrency

/// Decodes the bytes of a fetch, when there is memory for it and within its time limit.
// Unchecked: only the job's work accesses `memory`, before it waits and after, and a cancel that takes it out of the
// queue.
final class DecodeJob: PixelJob, MemoryWaiter, @unchecked Sendable {
    /// The memory taken from the budget, in bytes.
    private var memory = 0

    override func start(priority: ImageRequest.Priority) -> JobStep? {
        stage.workers.run { [self] in
            // The decode itself will report malformed bytes.
            memory = (try? needed()) ?? 0
            let wanted = memory
            switch stage.budget.withLock({ $0.take(wanted, for: self, priority: priority) }) {
            case .taken: runWithMemory()
            case .waits:
                emit(.waitsForMemory(bytes: wanted))
                // Apply a priority change that came before the job was queued.
                reprioritize()
                // Apply a cancellation that came before the job was queued.
                if cancellation.isCancelled { cancel() }
            case .refused:
                let error = CodecError.tooMuchMemory(memory, allowed: stage.budget.withLock { $0.limit })
                memory = 0
                scheduler.jobEnded(self, with: JobResult(.failure(error.about(url: plan.url.string))))
            }
        }
        return nil
    }

    override func reprioritize() {
        passPriorityOn { [self] priority in
            stage.run(stage.budget.withLock { $0.move(to: priority) { $0 === self } })
        }
    }

    override func cancel() {
        super.cancel()
        let (waiter, next) = stage.budget.withLock { $0.cancelled { $0 === self } }
        stage.run(next)
        // A job that was queued for memory is never run, so its end is reported here.
        if waiter != nil {
            memory = 0
            scheduler.jobEnded(self, with: JobResult(.failure(.cancelled(url: plan.url.string, stage: .decode))))
        }
    }

    func memoryWasGranted() {
        stage.workers.run { self.runWithMemory() }
    }

    /// Decodes with the memory that was taken. Called on a decoding thread.
    private func runWithMemory() {
        let taken = memory
        run()
        stage.giveBackMemory(taken)
    }

    private func needed() throws(LoadError) -> Int {
        guard case .response(let response)? = result?.value else { return 0 }
        return try stage.codecs.memoryNeeded(response.body, options: plan.decodeOptions())
    }

    override func work(
        on input: JobResult.Value, cancellation: CancellationFlag
    ) throws(LoadError) -> LoadedImage {
        switch input {
        case .response(let response):
            do throws(LoadError) {
                return try stage.withinTimeLimit(cancellation) { () throws(LoadError) in
                    try decode(response, cancellation)
                }
            } catch {
                throw error.naming(response.head)
            }
        // The image of a source needs no decoding.
        case .image(let image): return image.fitted(to: plan.decodeOptions())
        case .info, .failure: preconditionFailure("a decode was started without bytes")
        }
    }

    private func decode(
        _ response: LoadedResponse, _ cancellation: CancellationFlag
    ) throws(LoadError) -> LoadedImage {
        let options = plan.decodeOptions()
        do throws(LoadError) {
            if !response.isDelimited { try stage.codecs.checkEndMarker(of: response.body) }
            let (pixels, info) = try stage.codecs.decode(response.body, options: options, cancellation: cancellation)
            return image(pixels, info, response)
        } catch {
            // Damage in a stored body may come from the store or from an older fetch, so it is fetched again.
            let isStored = response.source == .disk || response.source == .revalidated
            guard error.code == .damaged, plan.request.allowsPartialImage, !isStored,
                let (part, info) = try? stage.codecs.decodePart(
                    response.body, options: options, cancellation: cancellation)
            else { throw error }
            stage.storage.reject(response.entry)
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
        // If no subscriber wanted an image when the response came, its freshness was not recorded.
        image.lifetime = response.lifetime ?? (response.head.version == .none ? nil : .expired)
        if plan.request.keepsMetadata {
            // Malformed metadata does not affect the pixels.
            image.metadata = (try? stage.codecs.metadata(of: response.body)) ?? ImageMetadata()
        }
        return image
    }
}
