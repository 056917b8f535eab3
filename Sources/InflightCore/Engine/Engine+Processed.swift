import InflightConcurrency

// Pictures that are stored as they were asked for: looked for before anything else, and kept when they are made.

/// What may be kept of a picture that is made of an answer.
final class StorableAnswer: Sendable {
    let key: StoreKey
    let request: CachingRequest
    /// What the picture is made of, as it is stored, or would be.
    let response: StoredResponse

    init(key: StoreKey, request: CachingRequest, response: StoredResponse) {
        self.key = key
        self.request = request
        self.response = response
    }
}

extension Engine {
    /// Sets a task's work going: with a look for the finished picture, where such are kept.
    ///
    /// - Parameter wasTaken: whether the task was under way before.
    func begin(_ task: ImageTask, plan: RequestPlan, wasTaken: Bool = false) {
        if store != nil, plan.looksForProcessed, findInMemory(plan) == nil {
            let count = plan.request.processors.count
            task.looksForProcessed(prefix: count)
            if look(for: count, of: plan.request, task, wasTaken: wasTaken) { return }
        }
        submit(task, plan: plan, wasTaken: wasTaken)
    }

    /// Has a task look for the stored image that the first `count` processors made.
    func look(for count: Int, of request: ImageRequest, _ task: ImageTask, wasTaken: Bool) -> Bool {
        guard let lookUp = try? plan(request, goal: .image, purpose: .processed(prefix: count)) else { return false }
        submit(task, plan: lookUp, wasTaken: wasTaken)
        return true
    }

    /// How the picture of a job is to be written for a store; `nil` where nobody who waits for it wants that.
    func storedOptions(_ id: Machine.JobID) -> EncodeOptions? {
        var options: EncodeOptions?
        readMachine { machine in
            machine.forEachOwnTask(of: id) { task in options = options ?? task.storedForm.processedOptions }
        }
        return options
    }

    /// Whether anybody who waits for a job's bytes wants something of `form` kept.
    func isWanted(_ id: Machine.JobID, _ form: (StoredForm) -> Bool) -> Bool {
        var isWanted = false
        readMachine { machine in
            machine.forEachTask(of: id) { _, task in isWanted = isWanted || form(task.storedForm) }
        }
        return isWanted
    }

    /// Has the store keep what the first `count` processors of a plan made, written on a thread for work on pixels.
    /// Returns at once.
    func keepProcessed(
        _ image: LoadedImage, by plan: RequestPlan, _ count: Int, of answer: StorableAnswer, _ options: EncodeOptions
    ) {
        guard let store else { return }
        let pixels = image.pixels
        var options = options
        if pixels.format.alpha != .opaque, options.format == .jpeg { options = options.keepingAlpha }
        let request = ProcessedPictures.request(answer.request, identity: plan.pictureIdentity(count, options))
        if let metadata = image.metadata { options.metadata = metadata }
        let key = ProcessedPictures.key(answer.key)
        let group = StoreGroup(storing, changing: [key], nil)
        defer { group.seal() }
        group(bytes: pixels.byteCount) { [self, options] done in
            workers.run { [self] in
                let body: Bytes
                do throws(LoadError) {
                    body = try codecs.encode(pixels, options: options)
                } catch {
                    log(.error, "a processed picture cannot be stored") { [("error", error.description)] }
                    return done()
                }
                guard
                    let stored = ProcessedPictures.stored(
                        madeOf: answer.response, for: request, type: options.format, byteCount: body.count)
                else { return done() }
                let replaced = Guarded([StoredEntry.ID]())
                store.find(key) { found in
                    let older = found.filter { SelectingFields.match($0.response, request.fields) }.map(\.id)
                    replaced.withLock { $0 = older }
                    return nil
                } completion: { _, _ in
                    store.keep(stored, body: body, under: key, replacing: replaced.withLock { $0 }) { _ in done() }
                }
            }
        }
    }
}

extension EncodeOptions {
    /// Whether what is written so comes back as it was: only such an image is processed further, so that what comes out
    /// does not depend on what is stored.
    var isExact: Bool { format == .png || (format == .webp && isLossless) }

    /// How a picture is written that has alpha, where these are for a format that has none.
    fileprivate var keepingAlpha: EncodeOptions {
        var options = EncodeOptions(format: .png)
        options.metadata = metadata
        return options
    }
}

extension FetchJob {
    /// Whether the bytes themselves are to be kept.
    var keepsOriginal: Bool {
        plan.request.isUsual || plan.request.storedForm.keepsOriginal || engine.isWanted(id, \.keepsOriginal)
    }

    /// What may be kept of a picture that is made of this answer.
    func storable(_ response: StoredResponse, _ use: StoreUse) -> StorableAnswer? {
        guard work?.redirected == nil, engine.isWanted(id, { $0.processedOptions != nil }) else { return nil }
        return StorableAnswer(key: use.key, request: use.request, response: response)
    }
}

/// Looks whether a picture is stored as it was asked for. Where it is not, its load goes on with the bytes.
// Unchecked: it adds nothing that changes.
final class ProcessedLookUp: EngineJob, @unchecked Sendable {
    private let plan: RequestPlan

    init(engine: Engine, id: ID, plan: RequestPlan) {
        self.plan = plan
        super.init(engine: engine, id: id)
    }

    override var logFields: [(name: String, value: String)] { [("job", "look-up"), ("url", plan.url.string)] }

    override func start(priority: LoadPriority) {
        guard let store = engine.store, let options = plan.request.storedForm.processedOptions else {
            preconditionFailure("a stored picture was looked for, and none are kept")
        }
        let (key, request) = plan.stored(
            after: nil, usualFields: engine.usualFields, harmlessFields: engine.harmlessFields)
        // What is transparent was written as PNG.
        let ways = options.format == .jpeg ? [options, options.keepingAlpha] : [options]
        let identities = ways.map { plan.pictureIdentity(plan.firstProcessor, $0) }
        let now = engine.wallTime
        engine.storing.whenSettled(key) { [self] in
            store.find(key) { _ in
                nil
            } completion: { [self] originals, _ in
                look(for: ProcessedPictures.key(key), of: (key, request), in: store) { pictures in
                    identities.lazy.compactMap {
                        ProcessedPictures.choose(pictures, originals: originals, for: request, identity: $0, now: now)
                    }.first
                }
            }
        }
    }

    private func look(
        for key: StoreKey, of original: (key: StoreKey, request: CachingRequest), in store: any ResponseStore,
        _ choose: @escaping @Sendable ([StoredEntry]) -> Int?
    ) {
        engine.storing.whenSettled(key) { [self] in
            store.find(key, choose: choose) { [self] pictures, body in
                tell(.lookedUp(body == nil ? .nothing : .fresh))
                guard let body else { return end(.failure(missing), isOfStored: true) }
                tell(.readFromStore(bytes: Int64(body.bytes.count)))
                end(.response(response(pictures[body.position], body.bytes, of: original)), isOfStored: false)
            }
        }
    }

    private func end(_ value: JobResult.Value, isOfStored: Bool) {
        result = JobResult(value, isOfStored: isOfStored)
        engine.jobsCameOn(CollectionOfOne(JobStep(ended: self)))
    }

    private func response(
        _ entry: StoredEntry, _ body: Bytes, of original: (key: StoreKey, request: CachingRequest)
    ) -> LoadedResponse {
        let picture = entry.response
        var response = LoadedResponse(
            head: picture.head, body: body, url: plan.url.string, wireBytes: 0, source: .disk)
        response.entry = StoredEntryReference(key: ProcessedPictures.key(original.key), id: entry.id)
        let resource = plan.resource(after: nil, harmlessFields: engine.harmlessFields)
        response.lifetime = engine.lifetimes.withLock { $0.received(picture, for: resource, from: .stored) }
        if !plan.processKeys.isEmpty {
            response.storable = StorableAnswer(key: original.key, request: original.request, response: picture)
        }
        return response
    }

    private var missing: LoadError {
        LoadError(
            .notStored, stage: .fetch, url: plan.url.string,
            message: "The picture is not stored as it is asked for; its bytes are asked for instead.")
    }
}
