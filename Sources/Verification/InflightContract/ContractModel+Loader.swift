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
    var wanted: Wish?
    var wish: Wish?
    var priority = ImageRequest.Priority.normal
    var processor: UInt8 = 0
    var state = State.idle
    var handlers = 0
}

extension Wish {
    /// Returns the same request with one more processor.
    fileprivate func processed(by number: UInt8) -> Wish {
        var wish = self
        if number == 0 { return wish }
        if wish.first == 0 { wish.first = number } else { wish.second = number }
        return wish
    }

    /// Returns whether both request the same image. The origin is ignored, because the loader compares images by their
    /// identity.
    fileprivate func asksForTheSame(as other: Wish) -> Bool {
        var other = other
        other.origin = origin
        return self == other
    }
}

extension ContractModel {
    // MARK: Calls of the owner

    /// A loader is created. Returns its number.
    public func loaderIsMade(queue: Int) -> Int {
        loaders.append(LoaderRecord(queue: queue))
        return loaders.count - 1
    }

    /// The loader's request is about to be set.
    public func loader(_ number: Int, sets wish: Wish?, priority: ImageRequest.Priority) {
        loaders[number].wanted = wish
        guard let wish else { return loaderResets(number) }
        let altered = wish.processed(by: loaders[number].processor)
        let isSame = loaders[number].wish?.asksForTheSame(as: altered) ?? false
        loaders[number].wish = altered
        loaders[number].priority = priority
        guard isSame else { return begin(number) }
        switch loaders[number].state {
        case .idle: begin(number)
        case .loading(let task): prioritizes(task, to: priority)
        case .loaded, .failed: break
        }
    }

    /// The loader's own processor is about to be set; 0 for none.
    public func loader(_ number: Int, setsProcessor processor: UInt8) {
        loaders[number].processor = processor
        guard let wish = loaders[number].wanted?.processed(by: processor) else { return }
        let isSame = loaders[number].wish?.asksForTheSame(as: wish) ?? false
        loaders[number].wish = wish
        if loaders[number].state != .idle, !isSame { begin(number) }
    }

    public func loaderStarts(_ number: Int) {
        switch loaders[number].state {
        case .idle, .failed: if loaders[number].wish != nil { begin(number) }
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
        loaders[number].wish = nil
        loaders[number].state = .idle
    }

    /// The loader is about to be released.
    public func loaderIsReleased(_ number: Int) { loaderCancels(number) }

    /// Returns whether the ending of the loader's task may have been dropped with its queue's pending work. If so, the
    /// loader's state has to be read first.
    public func mayHaveLostAnswer(_ number: Int) -> Bool {
        guard case .loading(let task) = loaders[number].state else { return false }
        return tasks[task].phase == .lost || tasks[task].phase == .silent
    }

    /// Begins the loader's load. The new load subscribes before the old one leaves.
    private func begin(_ number: Int) {
        guard let wish = loaders[number].wish else { return }
        let before = loaders[number].state
        if let found = findInMemory(wish, varied: false), found.stage == wish.stages - 1 {
            let exchange = found.kept.exchange
            loaders[number].state = .loaded(exchange)
        } else {
            let task = asked(wish, priority: loaders[number].priority, queue: loaders[number].queue)
            tasks[task].hasClosures = false
            loaders[number].state = .loading(task)
            if case .loading(let old) = before { tasks[task].replaces = old }
            return joins(task)
        }
        if case .loading(let old) = before { cancels(old) }
    }

    // MARK: Visible state

    /// The loader's state was read.
    public func loader(_ number: Int, shows state: ImageLoader.State, content: (PixelBuffer) -> Content) {
        switch (loaders[number].state, state) {
        case (.idle, .idle): break
        case (.loading, .idle) where mayHaveLostAnswer(number): loaders[number].state = .idle
        case (.loading(let task), .loading(let progress)):
            let received = progress?.receivedBytes ?? -1
            if received != tasks[task].heard {
                broken(5, "loader \(number) shows \(received) bytes, expected \(tasks[task].heard)")
            }
        case (.loaded(let exchange), .loaded(let image)):
            if content(image.pixels).exchange != exchange {
                broken(7, "loader \(number) shows the image of another exchange than \(exchange)")
            }
        case (.failed(let code), .failed(let error)) where error.code == code: break
        default: broken(3, "loader \(number) is \(state.name), expected \(loaders[number].state)")
        }
    }

    /// The loader's image was read: the loaded one, the placeholder, or the failure image.
    public func loader(_ number: Int, hasRightPicture: Bool) {
        if !hasRightPicture { broken(8, "the image of loader \(number) does not match its state") }
    }

    /// The loader's handler is called.
    ///
    /// - Returns: the task that the call concerns.
    public func handlerBegins(_ number: Int, at place: Place) -> Int? {
        if place.queue != loaders[number].queue {
            broken(1, "loader \(number)'s handler runs on queue \(place.queue), not \(loaders[number].queue)")
        }
        if place.using == number { broken(2, "loader \(number)'s handler runs inside a call of its owner") }
        guard case .loading(let task) = loaders[number].state else {
            broken(4, "loader \(number)'s handler runs, but no load is in flight")
            return nil
        }
        return task
    }

    /// The loader's load has ended, as its handler observes.
    public func loader(_ number: Int, endsWith ending: Ending, of task: Int, at place: Place) {
        endingBegins(task, ending, at: place)
        switch ending {
        case .content(let content, _): loaders[number].state = .loaded(content.exchange)
        case .failure(let code): loaders[number].state = .failed(code)
        }
    }

    /// A handler is set.
    public func handlerIsSet(_ number: Int) { loaders[number].handlers += 1 }

    /// The captures of a handler are released.
    public func handlerIsReleased(_ number: Int, at place: Place) {
        loaders[number].handlers -= 1
        let queue = loaders[number].queue
        if place.queue == queue || place.dropping == queue || place.using == number { return }
        broken(10, "the captures of loader \(number)'s handler were released on queue \(place.queue)")
    }

    func checkLoadersAtEnd() {
        for (number, loader) in loaders.enumerated() where loader.handlers != 0 {
            broken(10, "\(loader.handlers) handlers of loader \(number) were never released")
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
