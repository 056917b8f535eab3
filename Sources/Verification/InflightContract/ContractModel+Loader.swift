public import InflightCore

// A loader shows one request at a time, the latest. Its loads are ordinary tasks, requested on its queue.

/// One `ImageLoader`, as its documentation specifies it.
struct LoaderRecord {
    enum State: Equatable {
        case idle
        /// This task is loading.
        case loading(Int)
        /// The content of this exchange.
        case loaded(Int)
        case failed(LoadError.Code)
    }

    let queue: Int
    /// The request as set, and as loaded with the loader's own processor.
    var wanted: RequestSpec?
    var spec: RequestSpec?
    var priority = ImageRequest.Priority.normal
    var processor: UInt8 = 0
    var state = State.idle
    var handlers = 0
}

extension RequestSpec {
    /// Returns the same request with one more processor.
    fileprivate func processed(by number: UInt8) -> RequestSpec {
        var spec = self
        if number == 0 { return spec }
        if spec.first == 0 { spec.first = number } else { spec.second = number }
        return spec
    }

    /// Returns whether both request the same image. The origin is ignored, because the loader compares images by their
    /// identity.
    fileprivate func asksForTheSame(as other: RequestSpec) -> Bool {
        var other = other
        other.origin = origin
        return self == other
    }
}

extension ContractModel {
    // MARK: Calls of the owner

    /// A loader is created. Returns its number.
    public func loaderIsCreated(queue: Int) -> Int {
        loaders.append(LoaderRecord(queue: queue))
        return loaders.count - 1
    }

    /// The loader's request is about to be set.
    public func loader(_ number: Int, sets spec: RequestSpec?, priority: ImageRequest.Priority) {
        loaders[number].wanted = spec
        guard let spec else { return loaderResets(number) }
        let altered = spec.processed(by: loaders[number].processor)
        let isSame = loaders[number].spec?.asksForTheSame(as: altered) ?? false
        loaders[number].spec = altered
        loaders[number].priority = priority
        guard isSame else { return begin(number) }
        switch loaders[number].state {
        case .idle: begin(number)
        case .loading(let task):
            prioritizes(task, to: priority)
            // A request with the same identity may have another URL, which is fetched if the task leaves its job. A
            // fallback has its own.
            if tasks[task].spec.resource == altered.resource { tasks[task].spec.origin = altered.origin }
        case .loaded, .failed: break
        }
    }

    /// The loader's own processor is about to be set; 0 for none.
    public func loader(_ number: Int, setsProcessor processor: UInt8) {
        loaders[number].processor = processor
        guard let spec = loaders[number].wanted?.processed(by: processor) else { return }
        let isSame = loaders[number].spec?.asksForTheSame(as: spec) ?? false
        loaders[number].spec = spec
        if loaders[number].state != .idle, !isSame { begin(number) }
    }

    public func loaderStarts(_ number: Int) {
        switch loaders[number].state {
        case .idle, .failed: if loaders[number].spec != nil { begin(number) }
        case .loading, .loaded: break
        }
    }

    public func loaderCancels(_ number: Int) {
        guard case .loading(let task) = loaders[number].state else { return }
        loaders[number].state = .idle
        cancels(task)
    }

    public func loaderResets(_ number: Int) {
        loaderCancels(number)
        loaders[number].wanted = nil
        loaders[number].spec = nil
        loaders[number].state = .idle
    }

    /// The loader is about to be released.
    public func loaderIsReleased(_ number: Int) { loaderCancels(number) }

    /// Returns whether the ending of the loader's task may have been dropped with its queue's pending work. If so, the
    /// loader's state has to be read first.
    public func mayHaveLostEnding(_ number: Int) -> Bool {
        guard case .loading(let task) = loaders[number].state else { return false }
        return tasks[task].phase == .lost || tasks[task].phase == .silent
    }

    /// Begins the loader's load. The new load subscribes before the old one leaves.
    private func begin(_ number: Int) {
        guard let spec = loaders[number].spec else { return }
        let before = loaders[number].state
        if let found = findInMemory(spec, varied: false), found.stage == spec.stages - 1 {
            let exchange = found.kept.exchange
            loaders[number].state = .loaded(exchange)
        } else {
            let task = requested(
                spec, priority: loaders[number].priority, queue: loaders[number].queue, order: .lastInFirstOut)
            tasks[task].hasClosures = false
            loaders[number].state = .loading(task)
            if case .loading(let old) = before { tasks[task].replaces = old }
            return subscribes(task)
        }
        if case .loading(let old) = before { cancels(old) }
    }

    // MARK: Visible state

    /// The loader's state was read.
    public func loader(_ number: Int, shows state: ImageLoader.State, content: (PixelBuffer) -> Content) {
        switch (loaders[number].state, state) {
        case (.idle, .idle): break
        case (.loading, .idle) where mayHaveLostEnding(number): loaders[number].state = .idle
        case (.loading(let task), .loading(let progress)):
            let received = progress?.receivedBytes ?? -1
            if received != tasks[task].delivered {
                report(5, "loader \(number) shows \(received) bytes, expected \(tasks[task].delivered)")
            }
        case (.loaded(let exchange), .loaded(let image)):
            if content(image.pixels).exchange != exchange {
                report(7, "loader \(number) shows the image of another exchange than \(exchange)")
            }
        case (.failed(let code), .failed(let error)) where error.code == code: break
        default: report(3, "loader \(number) is \(state.name), expected \(loaders[number].state)")
        }
    }

    /// The loader's image was read: the loaded one, the placeholder, or the failure image.
    public func loader(_ number: Int, hasRightImage: Bool) {
        if !hasRightImage { report(8, "the image of loader \(number) does not match its state") }
    }

    /// The loader's handler is called.
    ///
    /// - Returns: the task that the call concerns.
    public func handlerBegins(_ number: Int, at context: CallContext) -> Int? {
        if context.queue != loaders[number].queue {
            report(1, "loader \(number)'s handler runs on queue \(context.queue), not \(loaders[number].queue)")
        }
        if context.using == number { report(2, "loader \(number)'s handler runs inside a call of its owner") }
        guard case .loading(let task) = loaders[number].state else {
            report(4, "loader \(number)'s handler runs, but no load is in flight")
            return nil
        }
        return task
    }

    /// The loader's load has ended, as its handler observes.
    public func loader(_ number: Int, endsWith ending: Ending, of task: Int, at context: CallContext) {
        endingBegins(task, ending, at: context)
        switch ending {
        case .content(let content, _): loaders[number].state = .loaded(content.exchange)
        case .failure(let code): loaders[number].state = .failed(code)
        }
    }

    /// A handler is set.
    public func handlerIsSet(_ number: Int) { loaders[number].handlers += 1 }

    /// The captures of a handler are released.
    public func handlerIsReleased(_ number: Int, at context: CallContext) {
        loaders[number].handlers -= 1
        let queue = loaders[number].queue
        if context.queue == queue || context.dropping == queue || context.using == number { return }
        report(10, "the captures of loader \(number)'s handler were released on queue \(context.queue)")
    }

    func checkLoadersAtEnd() {
        for (number, loader) in loaders.enumerated() where loader.handlers != 0 {
            report(10, "\(loader.handlers) handlers of loader \(number) were never released")
        }
    }
}

extension ImageLoader.State {
    fileprivate var name: String {
        switch self {
        case .idle: "idle"
        case .loading: "loading"
        case .loaded: "loaded"
        case .failed(let error): "failed(\(error.code))"
        }
    }
}
