internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// One caller, and the handles of its loads.
// Unchecked: everything in a simulation happens on one thread.
final class Caller: @unchecked Sendable {
    /// The model's number of the task, or -1 before there is one.
    var id = -1
    /// The task; nil if the caller did not retain it.
    var task: ImageTask?
    var awaiting: Task<Void, Never>?
}

/// A capture of a caller's closures, which reports where it is released.
// Unchecked: everything in a simulation happens on one thread.
private final class Captured: @unchecked Sendable {
    private unowned let world: World
    private let id: Int

    init(_ world: World, _ id: Int) {
        self.world = world
        self.id = id
    }

    func touch() {}

    deinit {
        world.model.released(id, at: world.context)
        world.poke()
    }
}

// The calls of callers. The seed decides when and in which context each is made.

extension World {
    static let priorities: [ImageRequest.Priority] = [.veryLow, .low, .normal, .normal, .high, .veryHigh]

    func act() {
        switch draws.below(40) {
        case 0..<3: sendRequest()
        case 3..<6: useViews()
        case 6..<18: cancel()
        case 18..<25: prioritize()
        case 25, 26:
            // Take the task out of its caller first, because its release inspects the whole world.
            if let caller = caller() { _ = caller.task.take() }
        case 27..<30:
            let queue = queues[draws.below(Self.callerQueues)]
            queue.isSuspended.toggle()
            fault(\.queues)
            note(12, UInt64(queue.index), "queue \(queue.index) is \(queue.isSuspended ? "suspended" : "resumed")")
        case 30:
            fault(\.queues)
            queues[2].drop()
        case 33 where setup.hasStore: store?.evictOne()
        case 31..<34: lookUpInMemory()
        case 34:
            guard let pipeline else { return }
            note(13, 0, "the memory cache is purged")
            model.emptiesMemory()
            pipeline.cache.removeAll()
        case 35 where steps > setup.steps * 3 / 4: shutDown()
        case 36 where steps > setup.steps * 7 / 8 && hasEnoughRequests:
            note(14, 0, "the pipeline is released")
            _ = pipeline.take()
        default:
            guard let caller = caller(), let task = caller.task, caller.id >= 0 else { return }
            model.saw(isCancelled: task.isCancelled, of: caller.id)
        }
    }

    /// Whether enough loads were requested. After the pipeline is released, none can be.
    private var hasEnoughRequests: Bool { callers.count { $0.id >= 0 } >= 20 }

    /// Returns one of the latest callers.
    private func caller() -> Caller? {
        guard !callers.isEmpty else { return nil }
        return callers[max(0, callers.count - 1 - draws.below(14))]
    }

    // MARK: Requesting

    func spec() -> RequestSpec {
        if draws.once(in: 24) { return Resources.spec(Resources.refused, kind: .refused, setup: setup) }
        let resource = setup.resources[draws.below(setup.resources.count)]
        if resource == Resources.header { return Resources.spec(resource, kind: .header, setup: setup) }
        if resource == Resources.refusedAtFirst { return Resources.spec(resource, kind: .refused, setup: setup) }
        let policy = setup.hasStore ? Setup.policy(&draws) : .obey
        let kind: RequestSpec.Kind = draws.once(in: 4) ? (draws.once(in: 2) ? .response : .bytes) : .image
        var spec = Resources.spec(resource, kind: kind, setup: setup)
        // Responses to a POST are never coalesced; bytes and images are.
        if spec.source != .none || resource == 5, kind == .response { spec.kind = .bytes }
        if spec.source == .none { spec.policy = policy }
        // A response without a body cannot be identified.
        if spec.kind == .response, policy == .onlyCached { spec.policy = .obey }
        if resource == Resources.identified { spec.origin = UInt8(draws.below(2)) }
        if setup.hasExcludedFields { spec.language = UInt8(1 + draws.below(2)) }
        if spec.resource == Resources.limited, !setup.hasStore, callers.count % 3 == 0 { spec.redirects = 20 }
        if spec.resource == 2 { spec.totalTime = setup.totalTime(ofCaller: callers.count) }
        guard kind == .image else { return spec }
        // An image that needs no decoder would really be resized.
        spec.size = setup.hasHuge || spec.source == .image ? 0 : UInt8(draws.below(2))
        if draws.once(in: 3) {
            spec.first = UInt8(1 + draws.below(2))
            if draws.once(in: 2) { spec.second = 1 }
        }
        return spec
    }

    func request(_ spec: RequestSpec, _ priority: ImageRequest.Priority) -> ImageRequest {
        var request: ImageRequest
        if let made = requests[spec] {
            request = made
        } else {
            request = Resources.request(spec, setup: setup, world: self)
            requests[spec] = request
        }
        request.priority = priority
        return request
    }

    func sendRequest() {
        guard let pipeline, callers.count < setup.tasks + 8 else { return }
        var spec = spec()
        spec.order = setup.order(ofCaller: callers.count)
        let priority = Self.priorities[draws.below(Self.priorities.count)]
        var request = request(spec, priority)
        let timeLimit = setup.timeLimit(ofCaller: callers.count)
        if timeLimit > 0 { request.deadline = .nanoseconds(timeLimit) }
        let form = draws.below(8)
        let caller = Caller()
        if spec.kind == .header || spec.kind == .response || form == 0 {
            awaitLoad(caller, pipeline, spec, request)
        } else if form == 1, spec.kind == .image || spec.kind == .refused {
            iterate(caller, pipeline, spec, request)
        } else {
            load(caller, pipeline, spec, request)
        }
        callers.append(caller)
    }

    /// To prepare a request, the engine reads the identities of its processors. Other threads may run before that.
    private func subscribe(_ id: Int, _ spec: RequestSpec) {
        if spec.first > 0 { preparing = id } else { model.subscribes(id) }
    }

    /// Returns the request, with previews for some callers.
    private func addingPreviews(to request: ImageRequest) -> ImageRequest {
        guard setup.hasPreviews, draws.once(in: 2) else { return request }
        var request = request
        request.previews = ImageRequest.PreviewOptions(interval: .milliseconds(draws.below(3) * 5))
        request.previews?.minimumBytes = 1
        return request
    }

    private func load(_ caller: Caller, _ pipeline: ImagePipeline, _ spec: RequestSpec, _ request: ImageRequest) {
        // Each kind of queue is used once before any is chosen at random.
        let queue = usedQueues & 7 == 7 ? draws.below(Self.callerQueues) : (~usedQueues).trailingZeroBitCount
        usedQueues |= 1 << queue
        let id = model.requested(spec, priority: request.priority, queue: queue, timeLimit: request.timeLimit)
        caller.id = id
        subscribe(id, spec)
        note(15, UInt64(id), "task \(id) on queue \(queue): \(spec.text), \(request.priority)")
        let before = context.loading
        context.loading = id
        caller.task = start(pipeline, spec, request, id: id, queue: queue)
        context.loading = before
    }

    /// A separate function, which releases its references to the closures before it returns.
    private func start(
        _ pipeline: ImagePipeline, _ spec: RequestSpec, _ request: ImageRequest, id: Int, queue: Int
    ) -> ImageTask {
        let captured = Captured(self, id)
        var progress: (@Sendable (ImageTask, ImageTask.Progress) -> Void)?
        if draws.once(in: 2) {
            progress = { [unowned self] task, progress in
                captured.touch()
                model.progressBegins(id, received: progress.receivedBytes, at: context)
                note(16, UInt64(id), "task \(id) receives progress: \(progress.receivedBytes) bytes")
                performCallback(id, task)
            }
        }
        if spec.kind == .image || spec.kind == .refused {
            let request = addingPreviews(to: request)
            var preview: (@Sendable (ImageTask, ImagePreview) -> Void)?
            if request.previews != nil {
                preview = { [unowned self] task, preview in
                    captured.touch()
                    model.previewBegins(id, Content(preview.pixels), detail: preview.detail, at: context)
                    note(81, UInt64(id), "task \(id) receives a preview of detail \(preview.detail)")
                    performCallback(id, task)
                }
            }
            return pipeline.load(request, on: callbackQueues[queue], progress: progress, preview: preview) {
                [unowned self] task, result in
                captured.touch()
                if case .success(let image) = result { model.receivesResult(id, isStale: image.isStale) }
                ended(id, result.ending, task)
            }
        }
        return pipeline.loadResponse(request, on: callbackQueues[queue], progress: progress) {
            [unowned self] task, result in
            captured.touch()
            if case .success(let response) = result { model.receivesResult(id, isStale: response.isStale) }
            ended(id, result.ending, task)
        }
    }

    private func ended(_ id: Int, _ ending: Ending, _ task: ImageTask) {
        model.endingBegins(id, ending, at: context)
        note(17, UInt64(id), "task \(id) ends: \(ending)")
        model.saw(isCancelled: task.isCancelled, of: id)
        performCallback(id, task)
    }

    /// Makes arbitrary calls inside a callback, on this thread and on others.
    private func performCallback(_ id: Int, _ task: ImageTask) {
        poke()
        switch draws.below(8) {
        case 0: cancel(id, task)
        case 1: act()
        default: break
        }
        interleave(in: 4)
        model.callbackReturned(id)
    }

    // MARK: Awaiting

    private func awaitLoad(_ caller: Caller, _ pipeline: ImagePipeline, _ spec: RequestSpec, _ request: ImageRequest) {
        note(18, 0, "a caller will await \(spec.text)")
        caller.awaiting = Task(executorPreference: executor) { [unowned self] in
            let id = model.requested(
                spec, priority: request.priority, queue: -1, isCancelled: Task.isCancelled,
                timeLimit: request.timeLimit)
            caller.id = id
            subscribe(id, spec)
            note(19, UInt64(id), "task \(id), async: \(spec.text)")
            let ending: Ending
            do throws(LoadError) {
                switch spec.kind {
                case .image, .refused: ending = .content(Content(try await pipeline.image(for: request).pixels), nil)
                case .bytes: ending = .content(Content(data: [UInt8](try await pipeline.data(for: request))), nil)
                case .response:
                    let response = try await pipeline.response(for: request)
                    check(response)
                    model.receivesResult(id, isStale: response.isStale)
                    ending = .content(SimulatedBody(response.body).content, response.source)
                case .header:
                    let info = try await pipeline.info(for: request).info
                    let content = Content(resource: spec.resource, language: 0, exchange: info.storedWidth - 1)
                    ending = .content(content, nil)
                }
            } catch {
                ending = .failure(error.code)
            }
            note(20, UInt64(id), "task \(id) ends: \(ending)")
            model.delivered(id, ending)
        }
    }

    private func check(_ response: LoadedResponse) {
        let exchange = SimulatedBody(response.body).content.exchange
        guard let expected = statuses[exchange] else { return }
        model.gotStatus(response.head.status, not: expected, exchange: exchange)
    }

    private func iterate(_ caller: Caller, _ pipeline: ImagePipeline, _ spec: RequestSpec, _ request: ImageRequest) {
        note(21, 0, "a caller will iterate the events of \(spec.text)")
        var events: LoadEvents? = pipeline.events(for: addingPreviews(to: request))
        caller.task = events?.task
        let patience = draws.below(6)
        caller.awaiting = Task(executorPreference: executor) { [unowned self, taken = events.take()] in
            var iterator = taken?.makeAsyncIterator()
            let isCancelled = Task.isCancelled || (caller.task?.isCancelled ?? false)
            let priority = caller.task?.priority ?? request.priority
            let id = model.requested(
                spec, priority: priority, queue: -1, isCancelled: isCancelled, receivesStale: true,
                timeLimit: request.timeLimit)
            caller.id = id
            model.subscribes(id)
            note(22, UInt64(id), "task \(id), event stream: \(spec.text)")
            var count = 0
            while let event = await iterator?.next(isolation: nil) {
                switch event {
                case .progress(let progress):
                    note(23, UInt64(id), "task \(id) receives progress: \(progress.receivedBytes) bytes")
                    model.delivered(id, progress: progress.receivedBytes)
                case .preview(let preview):
                    note(82, UInt64(id), "task \(id) receives a preview of detail \(preview.detail)")
                    model.delivered(id, preview: Content(preview.pixels), detail: preview.detail)
                case .stale(let image):
                    let content = Content(image.pixels)
                    note(80, UInt64(id), "task \(id) receives the stale image of exchange \(content.exchange)")
                    model.receivesStale(id, content)
                case .success(let image):
                    model.receivesResult(id, isStale: image.isStale)
                    let ending = Ending.content(Content(image.pixels), image.source)
                    note(24, UInt64(id), "task \(id) ends: \(ending)")
                    model.delivered(id, ending)
                case .failure(let error):
                    note(25, UInt64(id), "task \(id) ends: \(error.code)")
                    model.delivered(id, .failure(error.code))
                }
                count += 1
                if count == patience { break }
            }
            model.releasesEvents(id)
            iterator = nil
        }
    }

    // MARK: Leaving

    private func cancel() {
        guard let caller = caller() else { return }
        if let awaiting = caller.awaiting, draws.once(in: 2) || caller.task == nil {
            note(26, UInt64(max(0, caller.id)), "task \(caller.id) is cancelled by its async caller")
            if caller.id >= 0 { model.cancels(caller.id) }
            awaiting.cancel()
        } else if let task = caller.task, caller.id >= 0 {
            cancel(caller.id, task)
        }
    }

    private func cancel(_ id: Int, _ task: ImageTask) {
        note(27, UInt64(id), "task \(id) is cancelled")
        model.cancels(id)
        let before = context.cancelling
        context.cancelling = id
        task.cancel()
        context.cancelling = before
        model.saw(isCancelled: task.isCancelled, of: id)
    }

    private func prioritize() {
        guard let caller = caller(), let task = caller.task, caller.id >= 0 else { return }
        let priority = Self.priorities[draws.below(Self.priorities.count)]
        note(28, UInt64(caller.id), "task \(caller.id) gets priority \(priority)")
        model.prioritizes(caller.id, to: priority)
        task.priority = priority
    }

    private func lookUpInMemory() {
        guard let pipeline else { return }
        var spec = spec()
        spec.kind = .image
        spec.policy = .obey
        if spec.resource == Resources.header { return }
        let cached = pipeline.cache[request(spec, .normal)]
        model.saw(
            cached: cached.map { Content($0.pixels).exchange }, isStale: cached?.isStale ?? false, for: spec)
    }

    private func shutDown() {
        guard let pipeline else { return }
        let mode: ImagePipeline.ShutdownMode = draws.once(in: 2) ? .finish : .cancel
        Task(executorPreference: executor) { [unowned self] in
            note(29, 0, "the pipeline is shut down: \(mode)")
            model.shutsDown(mode)
            await pipeline.shutdown(mode)
            note(30, 0, "the pipeline was shut down")
            model.isShutDown()
        }
    }
}

extension ImageRequest {
    /// The time from the call to the deadline in nanoseconds; 0 for none.
    fileprivate var timeLimit: Int64 { deadline?.saturatedNanoseconds ?? 0 }
}

extension RequestSpec {
    var text: String {
        "\(kind) of \(resource)" + (size > 0 ? " at \(size)" : "") + (first > 0 ? " by \(first)" : "")
            + (second > 0 ? ", \(second)" : "") + (policy == .obey ? "" : ", \(policy.rawValue)")
            + (language > 1 ? " in language \(language)" : "")
    }
}

extension Result where Success == LoadedImage, Failure == LoadError {
    fileprivate var ending: Ending {
        switch self {
        case .success(let image): .content(Content(image.pixels), image.source)
        case .failure(let error): .failure(error.code)
        }
    }
}

extension Result where Success == LoadedResponse, Failure == LoadError {
    fileprivate var ending: Ending {
        switch self {
        case .success(let response): .content(SimulatedBody(response.body).content, response.source)
        case .failure(let error): .failure(error.code)
        }
    }
}

extension Content {
    fileprivate init(data bytes: [UInt8]) {
        self = SimulatedBody(Bytes(bytes)).content
    }
}
