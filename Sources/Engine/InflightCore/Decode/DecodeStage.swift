import InflightConcurrency

/// The parts that the decodes and processors of a pipeline share: codecs, threads, and the limits of memory and time.
final class DecodeStage: Sendable {
    let scheduler: Scheduler
    let images: CachedImages
    let storage: ResponseStorage
    let codecs: CodecRegistry
    let workers: any WorkExecutor
    /// The memory of all running decodes.
    let budget: Guarded<MemoryBudget<any MemoryWaiter>>
    private let maximumTime: Duration?

    init(
        _ configuration: ImagePipeline.Configuration, scheduler: Scheduler, images: CachedImages,
        storage: ResponseStorage
    ) {
        self.scheduler = scheduler
        self.images = images
        self.storage = storage
        codecs = configuration.codecs
        let threads = max(1, configuration.decodeConcurrency)
        workers = configuration.decodeExecutor ?? WorkerThreads(count: threads, name: "inflight-decode")
        budget = Guarded(MemoryBudget(limit: configuration.maximumDecodeMemory))
        maximumTime = configuration.maximumDecodeTime
    }

    // MARK: Memory

    func giveBackMemory(_ bytes: Int) {
        guard bytes > 0 else { return }
        run(budget.withLock { $0.given(back: bytes) })
    }

    /// Runs decodes whose memory requests were granted.
    func run(_ waiters: [any MemoryWaiter]) {
        for waiter in waiters { waiter.memoryWasGranted() }
    }

    /// Takes memory for a decode on the caller's thread, and blocks it until there is enough.
    func takeMemory(_ bytes: Int) throws(LoadError) {
        let thread = WaitingThread()
        switch budget.withLock({ $0.take(bytes, for: thread) }) {
        case .taken: break
        case .waits: thread.wait()
        case .refused: throw CodecError.tooMuchMemory(bytes, allowed: budget.withLock { $0.limit })
        }
    }

    // MARK: Time

    /// Runs `body`, and cancels the decode when its time limit has passed.
    func withinTimeLimit<Value>(
        _ cancellation: CancellationFlag, _ body: () throws(LoadError) -> Value
    ) throws(LoadError) -> Value {
        guard let maximumTime else { return try body() }
        let isLate = CancellationFlag()
        let timer = scheduler.clock.schedule(at: scheduler.clock.now() + maximumTime) {
            isLate.cancel()
            cancellation.cancel()
        }
        defer { timer.cancel() }
        do throws(LoadError) {
            return try body()
        } catch {
            guard error.code == .cancelled, isLate.isCancelled else { throw error }
            throw LoadError(
                .timedOut, stage: .decode,
                message: "Decoding timed out after \(maximumTime). The image may be malicious. Raise maximumDecodeTime "
                    + "if you trust the source.")
        }
    }

    // MARK: Stored bytes

    /// The formats whose structure is checked by a walk over a few markers or chunks.
    private static let quickFormats: Set<ImageFormat> = [.jpeg, .png, .gif, .webp]

    /// Returns whether ``check(_:of:decodes:)`` takes no longer than to pass the body to another thread.
    func checksQuickly(_ body: Bytes, of request: ImageRequest) -> Bool {
        guard body.count <= 64 << 10, !request.verifiesStoredImage, let format = codecs.detect(body) else {
            return false
        }
        // A JPEG without its end marker is decoded.
        if format == .jpeg, body[body.count - 2] != 0xFF || body[body.count - 1] != 0xD9 { return false }
        return Self.quickFormats.contains(format)
    }

    /// Checks that a body is an image, by its structure and optionally its pixels. Throws if it is not.
    ///
    /// - Parameter decodes: whether to decode the pixels if there is memory for that now. Takes as long as a decode.
    /// - Returns: whether they were decoded.
    func check(_ body: Bytes, of request: ImageRequest, decodes: Bool) throws(LoadError) -> Bool {
        _ = try codecs.validate(body)
        guard decodes else { return false }
        var options = DecodeOptions()
        options.maximumPixels = request.limits.maximumPixels
        options.maximumMemory = request.limits.maximumDecodeBytes
        let needed = try codecs.memoryToVerify(body, options: options)
        guard budget.withLock({ $0.takeNow(needed) }) else { return false }
        defer { giveBackMemory(needed) }
        let cancellation = CancellationFlag()
        try withinTimeLimit(cancellation) { () throws(LoadError) in
            try codecs.verify(body, options: options, cancellation: cancellation)
        }
        return true
    }

    /// Encodes the image that a plan's first `count` processors made, on a decoding thread, and stores it. Returns at
    /// once.
    func store(
        _ image: LoadedImage, by plan: RequestPlan, _ count: Int, of answer: StorableResponse, _ options: EncodeOptions
    ) {
        guard let store = storage.store else { return }
        let pixels = image.pixels
        var options = options
        if pixels.format.alpha != .opaque, options.format == .jpeg { options = options.keepingAlpha }
        let request = ProcessedImages.request(answer.request, identity: plan.request.imageIdentity(count, options))
        if let metadata = image.metadata { options.metadata = metadata }
        let key = ProcessedImages.key(answer.key)
        let group = StoreGroup(storage, changing: [key], nil)
        defer { group.seal() }
        group(bytes: pixels.byteCount) { [self, options] done in
            workers.run { [self] in
                let body: Bytes
                do throws(LoadError) {
                    body = try codecs.encode(pixels, options: options)
                } catch {
                    scheduler.log(.error, "cannot store a processed image") { [("error", error.description)] }
                    return done()
                }
                guard
                    let stored = ProcessedImages.stored(
                        madeOf: answer.response, for: request, type: options.format, byteCount: body.count)
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
