internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

// Loaders, each used on its own queue as a view is, and a prefetcher, used from any thread.

/// A capture of a loader's handler, which reports where it is released.
// Unchecked: everything in a simulation happens on one thread.
private final class CapturedByHandler: @unchecked Sendable {
    private unowned let world: World
    private let loader: Int

    init(_ world: World, _ loader: Int) {
        self.world = world
        self.loader = loader
        world.model.handlerIsSet(loader)
    }

    func touch() {}

    deinit {
        world.model.handlerIsReleased(loader, at: world.context)
        world.poke()
    }
}

extension World {
    private static let placeholder = Content(resource: 200, language: 0, exchange: 0).pixels
    private static let failureImage = Content(resource: 201, language: 0, exchange: 0).pixels

    func makeViews(_ pipeline: ImagePipeline) {
        for queue in setup.loaderQueues {
            let loader = ImageLoader(pipeline: pipeline, callbackQueue: callbackQueues[queue])
            let number = model.loaderIsCreated(queue: queue)
            let before = context.queue
            context.queue = queue
            loader.placeholder = Self.placeholder
            if number == 0 { loader.failurePicture = Self.failureImage }
            setHandler(of: loader, number)
            context.queue = before
            loaders.append(loader)
        }
        guard let prefetch = setup.prefetch else { return }
        let turn: Prefetcher.Turn =
            prefetch.turnQueue < 0 ? .time(.milliseconds(2)) : .queue(callbackQueues[prefetch.turnQueue])
        prefetcher = Prefetcher(
            pipeline: pipeline,
            destination: prefetch.isIntoMemory
                ? .memory : .bytes(limit: Int64(prefetch.room * SimulatedBody.count + SimulatedBody.count / 2)),
            turn: turn, limit: prefetch.limit, endings: callbackQueues[Self.prefetchQueue])
        model.prefetcherIsCreated(
            queue: Self.prefetchQueue, limit: prefetch.limit, room: prefetch.isIntoMemory ? nil : prefetch.room)
    }

    var hasViews: Bool { prefetcher != nil || loaders.contains { $0 != nil } }

    /// Releases all views at the end. Stored prefetched bodies are requested before that, which shows the evictions.
    func closeViews() {
        for number in loaders.indices { release(loader: number) }
        if prefetcher != nil, setup.prefetch?.isIntoMemory == false {
            let before = context.isAtomic
            context.isAtomic = true
            for resource in setup.resources where resource != Resources.header {
                take(Resources.spec(resource, kind: .bytes, setup: setup))
            }
            context.isAtomic = before
        }
        releasePrefetcher()
    }

    func useViews() {
        if prefetcher != nil, loaders.isEmpty || draws.once(in: 2) { return usePrefetcher() }
        guard !loaders.isEmpty else { return sendRequest() }
        let number = draws.below(loaders.count)
        if loaders[number] == nil { return sendRequest() }
        // The loader is released on any thread, but used only on its queue.
        let queue = setup.loaderQueues[number]
        if draws.once(in: 24), handling & (1 << number) == 0 { return release(loader: number) }
        if context.queue == queue, !context.isAtomic, depth == 0 { return use(loader: number) }
        queues[queue].submit { [unowned self] in
            use(loader: number)
            poke()
        }
    }

    // MARK: Loaders

    private func use(loader number: Int) {
        guard let loader = loaders[number] else { return }
        if model.mayHaveLostEnding(number) { inspect(loader, number) }
        let before = (using: context.using, isAtomic: context.isAtomic)
        context.using = number
        context.isAtomic = true
        change(loader, number)
        (context.using, context.isAtomic) = before
        inspect(loader, number)
    }

    private func change(_ loader: ImageLoader, _ number: Int) {
        switch draws.below(16) {
        case 0..<8:
            var spec = spec()
            while spec.kind != .image && spec.kind != .refused { spec = self.spec() }
            spec.second = 0
            spec.policy = .obey
            // By default a loader's loads go first.
            if setup.hasStore { spec.order = .firstInFirstOut }
            let priority = Self.priorities[draws.below(Self.priorities.count)]
            note(50, UInt64(number), "loader \(number) requests \(spec.text), \(priority)")
            let request = request(spec, priority)
            model.loader(number, sets: spec, priority: priority)
            loader.request = request
        case 8:
            note(51, UInt64(number), "loader \(number) clears its request")
            model.loader(number, sets: nil, priority: .normal)
            loader.request = nil
        case 9, 10:
            note(52, UInt64(number), "loader \(number) starts")
            model.loaderStarts(number)
            loader.start()
        case 11:
            note(53, UInt64(number), "loader \(number) is cancelled")
            model.loaderCancels(number)
            loader.cancel()
        case 12:
            note(54, UInt64(number), "loader \(number) is reset")
            model.loaderResets(number)
            loader.reset()
        case 13:
            let processor = UInt8(draws.below(3))
            note(55, UInt64(number), "loader \(number) sets processor \(processor)")
            model.loader(number, setsProcessor: processor)
            let simulated = SimulatedProcessor(world: self, number: processor, policy: .obey)
            loader.processors = processor == 0 ? [] : [ImageProcessor(simulated)]
        case 14: setHandler(of: loader, number)
        default: break
        }
    }

    private func inspect(_ loader: ImageLoader, _ number: Int) {
        let state = loader.state
        model.loader(number, shows: state) { Content($0) }
        let expected: PixelBuffer? =
            switch state {
            case .loaded(let image): image.pixels
            case .failed: number == 0 ? Self.failureImage : Self.placeholder
            case .idle, .loading: Self.placeholder
            }
        model.loader(number, hasRightImage: loader.picture.map { Content($0) } == expected.map { Content($0) })
    }

    private func setHandler(of loader: ImageLoader, _ number: Int) {
        note(56, UInt64(number), "loader \(number) sets a handler")
        let before = context.using
        context.using = number
        let captured = CapturedByHandler(self, number)
        loader.onChange = { [unowned self] loader in
            captured.touch()
            handleChange(of: loader, number)
        }
        context.using = before
    }

    private func handleChange(of loader: ImageLoader, _ number: Int) {
        guard let task = model.handlerBegins(number, at: context) else { return }
        switch loader.state {
        case .idle: model.loader(number, shows: .idle) { Content($0) }
        case .loading(let progress):
            note(57, UInt64(number), "loader \(number) receives progress: \(progress?.receivedBytes ?? -1) bytes")
            model.progressBegins(task, received: progress?.receivedBytes ?? -1, at: context)
        case .loaded(let image):
            note(58, UInt64(number), "loader \(number) shows the image of task \(task)")
            model.loader(number, endsWith: .content(Content(image.pixels), image.source), of: task, at: context)
        case .failed(let error):
            note(59, UInt64(number), "loader \(number) failed with \(error.code), task \(task)")
            model.loader(number, endsWith: .failure(error.code), of: task, at: context)
        }
        handling |= 1 << number
        poke()
        if draws.once(in: 4) { use(loader: number) }
        if draws.once(in: 8) { act() }
        interleave(in: 4)
        handling &= ~(1 << number)
        model.callbackReturned(task)
        // The last statement, because it may release the loader.
        if draws.once(in: 16) { release(loader: number) }
    }

    private func release(loader number: Int) {
        guard loaders[number] != nil else { return }
        note(60, UInt64(number), "loader \(number) is released")
        model.loaderIsReleased(number)
        let before = context.isAtomic
        context.isAtomic = true
        // Take the loader out of the table first, because its release inspects the whole world.
        _ = loaders[number].take()
        context.isAtomic = before
    }

    // MARK: Prefetcher

    private func prefetchSpecs() -> [RequestSpec] {
        (0...draws.below(3)).map { _ in
            var spec = spec()
            // A load that fails at once is delivered before the loads that were requested with it.
            while spec.kind == .response || spec.kind == .header || spec.resource == Resources.refusedAtFirst {
                spec = self.spec()
            }
            guard spec.kind != .refused else { return spec }
            spec.kind = setup.prefetch?.isIntoMemory == true ? .image : .bytes
            if spec.kind == .bytes { (spec.size, spec.first, spec.second) = (0, 0, 0) }
            return spec
        }
    }

    private func usePrefetcher() {
        guard let prefetcher else { return }
        let before = (isAtomic: context.isAtomic, isInTurn: context.isInTurn)
        context.isAtomic = true
        change(prefetcher)
        (context.isAtomic, context.isInTurn) = before
    }

    private func change(_ prefetcher: Prefetcher) {
        switch draws.below(20) {
        case 0..<8:
            let specs = prefetchSpecs()
            note(61, UInt64(specs.count), "the prefetcher starts: \(specs.map(\.text).joined(separator: "; "))")
            model.prefetcherStarts(specs)
            context.isInTurn = true
            prefetcher.start(specs.map { request($0, .high) })
        case 8..<12:
            let specs = prefetchSpecs()
            note(62, UInt64(specs.count), "the prefetcher stops: \(specs.map(\.text).joined(separator: "; "))")
            model.prefetcherStops(specs)
            context.isInTurn = true
            prefetcher.stop(specs.map { request($0, .high) })
        case 12:
            note(63, 0, "the prefetcher stops all")
            model.prefetcherStopsAll()
            context.isInTurn = true
            prefetcher.stopAll()
        case 13:
            note(64, 0, "the prefetcher pauses")
            model.prefetcherPauses()
            prefetcher.pause()
        case 14, 15:
            note(65, 0, "the prefetcher resumes")
            model.prefetcherResumes()
            prefetcher.resume()
        case 16:
            let limit = 1 + draws.below(3)
            note(66, UInt64(limit), "the prefetcher gets limit \(limit)")
            model.prefetcherMaySend(limit)
            prefetcher.limit = limit
        case 17:
            if let spec = prefetchSpecs().first { take(spec) }
        case 18 where draws.once(in: 3): releasePrefetcher()
        default: model.prefetcherReports(prefetcher.statistics, bodySize: Int64(SimulatedBody.count))
        }
    }

    private func take(_ spec: RequestSpec) {
        let taken = prefetcher?.takeResponse(for: request(spec, .normal))
        note(67, UInt64(spec.resource), "prefetched bytes of \(spec.text): \(taken == nil ? "miss" : "hit")")
        model.prefetcherReturned(taken.map { SimulatedBody($0.body).content.exchange }, for: spec) { responsesVary[$0] }
    }

    private func releasePrefetcher() {
        guard prefetcher != nil else { return }
        note(68, 0, "the prefetcher is released")
        model.prefetcherIsReleased()
        let before = context.isAtomic
        context.isAtomic = true
        _ = prefetcher.take()
        context.isAtomic = before
    }
}
