import InflightConcurrency

/// Works on pixels on one of the pipeline's decoding threads: decodes the bytes of a fetch, or applies one processor to
/// the image of the step before.
// Unchecked: `flag` is accessed only while the job's stripe of locks is held. The input is written before the graph
// lets the job start, with the engine's lock taken in between. Only the job's work accesses `memory`, before it waits
// and after, and a cancel that takes it out of the queue.
final class PixelJob: Job, MemoryWaiter, @unchecked Sendable {
    /// The index of the processor among those that the plan applies; -1 for the decode.
    private let processor: Int32
    /// Created on first use, because most jobs are queued for a long time and never cancelled.
    private var flag: CancellationFlag?
    /// The memory that the decode took from the limit, in bytes.
    private var memory = 0

    /// - Parameter processor: the index of a processor among those that the plan applies; -1 decodes.
    init(engine: Engine, id: ID, plan: RequestPlan, processor: Int) {
        self.processor = Int32(processor)
        super.init(engine: engine, id: id, plan: plan)
    }

    private var cancellation: CancellationFlag {
        LockStripes.stripe(for: self).lock.withLock {
            if let flag { return flag }
            let made = CancellationFlag()
            flag = made
            return made
        }
    }

    private var isDecode: Bool { processor < 0 }

    /// Whether it encodes the image of the last processor.
    private var isEncode: Bool {
        plan.goal == .encoded && plan.firstProcessor + Int(processor) == plan.request.processors.count
    }

    override var logFields: [(name: String, value: String)] {
        [("job", isDecode ? "decode" : isEncode ? "encode" : "process"), ("url", plan.url.string)]
    }

    // MARK: Calls from the engine

    /// Until the job has ended, `result` holds its input.
    override func feed(_ result: JobResult) {
        self.result = result
    }

    override func start(priority: ImageRequest.Priority) -> JobStep? {
        engine.workers.run { [self] in
            if isDecode { takeMemory(priority: priority) } else { run() }
        }
        return nil
    }

    override func reprioritize() {
        guard isDecode else { return }
        passPriorityOn { engine.decodeLimits.reprioritize(self, to: $0) }
    }

    override func cancel() {
        cancellation.cancel()
        // A job that was queued for memory is never run, so its end is reported here.
        if isDecode, engine.decodeLimits.withdraw(self) {
            memory = 0
            engine.jobEnded(self, with: JobResult(.failure(.cancelled(url: plan.url.string, stage: .decode))))
        }
    }

    // MARK: Memory

    private func takeMemory(priority: ImageRequest.Priority) {
        var needed = 0
        if case .response(let response)? = result?.value {
            let options = refuseTasks(response.body)
            // The decode itself will report malformed bytes.
            needed = (try? codecs.memoryNeeded(response.body, options: options)) ?? 0
        }
        memory = needed
        do throws(LoadError) {
            if try engine.decodeLimits.take(needed, for: self, priority: priority) { return runWithMemory() }
            emit(.waitsForMemory(bytes: needed))
            // Apply a priority change that came before the job was queued.
            reprioritize()
            // Apply a cancellation that came before the job was queued.
            if cancellation.isCancelled { cancel() }
        } catch {
            memory = 0
            engine.jobEnded(self, with: JobResult(.failure(error.about(url: plan.url.string))))
        }
    }

    func memoryWasGranted() {
        engine.workers.run { self.runWithMemory() }
    }

    private func runWithMemory() {
        let taken = memory
        run()
        engine.decodeLimits.release(taken)
    }

    // MARK: Limits

    /// The limits of a task for decoding, which are in no key.
    struct Limits: Hashable {
        let pixels: Int
        let memory: Int

        init(_ limits: ImageRequest.Limits) {
            (pixels, memory) = (limits.maximumPixels, limits.maximumDecodeBytes)
        }
    }

    /// Ends the tasks that do not allow to decode these bytes, if others do.
    ///
    /// - Returns: the options with the laxest limits of the tasks.
    @discardableResult
    private func refuseTasks(_ body: Bytes) -> DecodeOptions {
        var options = plan.decodeOptions()
        let limits = engine.decodeLimits(of: self)
        options.maximumPixels = limits.map(\.pixels).max() ?? options.maximumPixels
        options.maximumMemory = limits.map(\.memory).max() ?? options.maximumMemory
        guard limits.count > 1 else { return options }
        // Codecs may be the program's own code, so they are asked without a lock.
        var errors: [Limits: LoadError] = [:]
        for limit in limits {
            var own = options
            (own.maximumPixels, own.maximumMemory) = (limit.pixels, limit.memory)
            do throws(LoadError) {
                _ = try codecs.memoryNeeded(body, options: own)
            } catch {
                errors[limit] = error
            }
        }
        _ = engine.refuse(tasksOf: self) { errors[Limits($0)] }
        return options
    }

    // MARK: Work

    /// Does the work, and reports its end.
    private func run() {
        guard let input = result.take() else { preconditionFailure("a pixel job without input") }
        let isFromStore = input.value.isStoredResponse
        do throws(LoadError) {
            let cancellation = cancellation
            if cancellation.isCancelled { throw .cancelled(url: plan.url.string, stage: .decode) }
            if isEncode, case .image(let image) = input.value {
                let file = try encoded(image)
                return engine.jobEnded(
                    self, with: JobResult(.response(file), isBeingRevalidated: input.isBeingRevalidated))
            }
            let image = try work(on: input.value, cancellation: cancellation)
            let (width, height) = (image.pixels.width, image.pixels.height)
            emit(isDecode ? .decoded(width: width, height: height) : .processed(width: width, height: height))
            store(image)
            // Processors may compute their identity here, so the key is made with no lock held.
            if let key = plan.memoryPlan(engine.fieldsExcludedFromKey)?.imageKey(appliedProcessors),
                engine.images.mayStore(image), engine.isWantedInMemory(id)
            {
                engine.images.store(image, for: key)
            }
            engine.jobEnded(
                self, with: JobResult(.image(image), isBeingRevalidated: input.isBeingRevalidated))
        } catch {
            if error.rejectsBody, case .response(let response) = input.value { engine.storage.reject(response.entry) }
            let isUseless = isFromStore && error.rejectsBody
            engine.jobEnded(
                self, with: JobResult(.failure(error.about(url: plan.url.string)), isFromStore: isUseless))
        }
    }

    /// The number of the request's processors that made this job's image.
    private var appliedProcessors: Int { plan.firstProcessor + Int(processor) + 1 }

    private func work(
        on input: JobResult.Value, cancellation: CancellationFlag
    ) throws(LoadError) -> LoadedImage {
        switch (isDecode, input) {
        case (true, .response(let response)):
            do throws(LoadError) {
                return try engine.decodeLimits.withinTime(cancellation) { () throws(LoadError) in
                    try decode(response, cancellation)
                }
            } catch {
                throw error.naming(response.head)
            }
        // The image of a source needs no decoding.
        case (true, .image(let image)): return image.fitted(to: plan.decodeOptions())
        case (false, .image(var image)):
            let pixels = try plan.request.processors[appliedProcessors - 1].process(
                image.pixels, cancellation: cancellation)
            // A processor may return another pixel format. The result has the requested one.
            image.pixels = pixels.inFormat(of: plan.decodeOptions())
            return image
        case (_, .info), (_, .failure), (false, .response):
            preconditionFailure("a pixel job was started without its input")
        }
    }

    private func decode(
        _ response: LoadedResponse, _ cancellation: CancellationFlag
    ) throws(LoadError) -> LoadedImage {
        let options = refuseTasks(response.body)
        // Tasks may join or leave while it decodes.
        defer { refuseTasks(response.body) }
        do throws(LoadError) {
            if !response.isDelimited { try codecs.checkEndMarker(of: response.body) }
            let (pixels, info) = try codecs.decode(response.body, options: options, cancellation: cancellation)
            return image(pixels, info, response)
        } catch let error where error.isOfLimits && refuseTasks(response.body).allowsMore(than: options) {
            return try decode(response, cancellation)
        } catch {
            // Damage in a stored body may come from the store or from an older fetch, so it is fetched again.
            let isStored = response.source == .disk || response.source == .revalidated
            guard error.code == .damaged, plan.request.allowsPartialImage, !isStored,
                let (part, info) = try? codecs.decodePart(
                    response.body, options: options, cancellation: cancellation)
            else { throw error }
            engine.storage.reject(response.entry)
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
        if plan.request.keepsBody { image.body = response.body }
        if plan.request.keepsMetadata {
            // Malformed metadata does not affect the pixels.
            image.metadata = (try? codecs.metadata(of: response.body)) ?? ImageMetadata()
        }
        return image
    }

    // MARK: Storing

    /// Stores the image, if a direct subscriber wants exactly this image stored.
    private func store(_ image: LoadedImage) {
        let count = appliedProcessors
        // An unchanged image from the store is already stored.
        guard count > plan.firstProcessor || !plan.isProcessedLookUp, let storable = image.storable, !image.isStale,
            !image.isIncomplete
        else { return }
        let wanted = engine.read { graph in
            var options: EncodeOptions?
            graph.forEachOwnTask(of: id) { task in options = options ?? task.storedRepresentation.processedOptions }
            return options
        }
        if let wanted { encode(image, for: storable, wanted) }
    }

    /// Encodes the image on a decoding thread, and stores it. Returns at once.
    private func encode(_ image: LoadedImage, for original: StorableResponse, _ options: EncodeOptions) {
        let (pixels, metadata) = (image.pixels, image.metadata)
        let options = options.suiting(pixels)
        let identity = plan.request.imageIdentity(appliedProcessors, options)
        keep(for: original, identity: identity, bytes: pixels.byteCount) { [engine] use in
            engine.workers.run {
                do throws(LoadError) {
                    use(try engine.codecs.encode(pixels, options: options.with(metadata)), options.format)
                } catch {
                    engine.log(.error, "cannot store a processed image") { [("error", error.description)] }
                    use(nil, options.format)
                }
            }
        }
    }

    /// Returns the file of an image, and keeps it in memory and in the store.
    private func encoded(_ image: LoadedImage) throws(LoadError) -> LoadedResponse {
        guard let wanted = plan.request.storedRepresentation.processedOptions else {
            preconditionFailure("an image is encoded without options")
        }
        let options = wanted.suiting(image.pixels)
        let body = try engine.codecs.encode(image.pixels, options: options.with(image.metadata))
        var file = LoadedResponse(
            head: image.head, body: body, url: image.url, wireBytes: image.wireBytes, source: image.source)
        file.head.describe(options.format, byteCount: body.count)
        file.isStale = image.isStale
        if let lifetime = image.lifetime { file.lifetime = lifetime }
        guard !image.isStale, !image.isIncomplete else { return file }
        if engine.isWantedInMemory(id) { engine.images.keep(file, for: plan) }
        if let original = image.storable {
            let identity = plan.request.imageIdentity(plan.request.processors.count, options)
            keep(for: original, identity: identity, bytes: body.count) { $0(body, options.format) }
        }
        return file
    }

    /// Stores the file of an image. Returns at once.
    ///
    /// - Parameters:
    ///   - bytes: the number of bytes that wait for the store.
    ///   - make: passes the file on, or nil if there is none.
    private func keep(
        for original: StorableResponse, identity: String, bytes: Int,
        _ make: @escaping @Sendable (_ use: @escaping @Sendable (Bytes?, ImageFormat) -> Void) -> Void
    ) {
        guard let store = engine.storage.store else { return }
        let request = ProcessedImages.request(original.request, identity: identity)
        let key = ProcessedImages.key(original.key)
        let group = StoreGroup(engine.storage, changing: [key], nil)
        defer { group.seal() }
        group(bytes: bytes) { done in
            make { body, format in
                guard let body,
                    let stored = ProcessedImages.stored(
                        madeOf: original.response, for: request, type: format, byteCount: body.count)
                else { return done() }
                let replaced = Guarded([StoredEntry.ID]())
                store.find(key) { found in
                    let older = found.filter { VaryFields.match($0.response, request.fields) }.map(\.id)
                    replaced.withLock { $0 = older }
                    return nil
                } completion: { _, _ in
                    let older = replaced.withLock { $0 }
                    store.keep(stored, body: body, under: key, replacing: older) { found in
                        CacheCandidates.replaced(by: stored, among: found, for: request, except: older)
                    } completion: { _ in
                        done()
                    }
                }
            }
        }
    }
}

extension EncodeOptions {
    /// Returns these options, or others that keep the transparency of the pixels.
    fileprivate func suiting(_ pixels: PixelBuffer) -> EncodeOptions {
        pixels.format.alpha != .opaque && format == .jpeg ? keepingAlpha : self
    }

    fileprivate func with(_ metadata: ImageMetadata?) -> EncodeOptions {
        var options = self
        if let metadata { options.metadata = metadata }
        return options
    }
}

extension LoadError {
    /// Whether the image exceeds a limit of its request.
    fileprivate var isOfLimits: Bool { code == .tooManyPixels || code == .tooMuchMemory }
}

extension DecodeOptions {
    fileprivate func allowsMore(than other: DecodeOptions) -> Bool {
        maximumPixels > other.maximumPixels || maximumMemory > other.maximumMemory
    }
}
