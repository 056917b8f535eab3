import InflightConcurrency

/// The events of one load, in order: progress, previews if requested, a stale image if HTTP allows it, then one ending,
/// `success` or `failure`, after which the sequence ends.
///
/// Progress and previews that are not consumed in time are dropped, so nothing accumulates. The sequence can be
/// iterated once, and traps if two tasks wait for its events at the same time. Releasing the sequence and its iterator
/// cancels the load. So does cancelling the task that iterates over it, whose next event is then a failure with the
/// code ``LoadError/Code/cancelled``.
public struct LoadEvents: AsyncSequence, Sendable {
    /// An event of a load.
    public enum Event: Sendable {
        /// The progress of the fetch, at most every 16 ms, and always the last before the ending if it is consumed in
        /// time. The number of received bytes never decreases.
        case progress(ImageTask.Progress)
        /// A partial image, better than the one before. None follows the ending. See ``ImageRequest/previews``.
        case preview(ImagePreview)
        /// A stored image that is stale, while its successor is requested (`stale-while-revalidate`, RFC 5861).
        case stale(LoadedImage)
        /// The ending of a successful load.
        case success(LoadedImage)
        /// The ending of a failed or cancelled load.
        case failure(LoadError)
    }

    public typealias Element = Event
    public typealias Failure = Never

    private let owner: EventOwner

    init(task: ImageTask) {
        owner = EventOwner(task)
    }

    /// The task behind the events, for changing its priority or cancelling it.
    public var task: ImageTask { owner.task }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(owner: owner)
    }

    /// The image of the load, without its other events: the rest of the sequence is consumed.
    ///
    /// - Throws: the error of the load; ``LoadError/Code/cancelled`` if it was cancelled.
    public var image: LoadedImage {
        get async throws(LoadError) {
            for await event in self {
                switch event {
                case .success(let image): return image
                case .failure(let error): throw error
                case .progress, .preview, .stale: continue
                }
            }
            throw .cancelled(url: task.plan?.url.string, stage: .request)
        }
    }

    /// The iterator of a load's events. The first call of `next()` starts the load.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let owner: EventOwner
        private var hasEnded = false

        fileprivate init(owner: EventOwner) {
            self.owner = owner
        }

        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Event? {
            guard !hasEnded else { return nil }
            let event = await owner.next()
            hasEnded = event.isLast
            switch event {
            case .news(.progress(let progress)): return .progress(progress)
            case .news(.preview(let box)): return .preview(box.preview)
            case .news(.stale(let result)):
                switch result.image(isShared: false) {
                case .success(let image): return .stale(image)
                case .failure(let error): return .failure(error)
                }
            case .ended(let result, let isShared):
                switch result.image(isShared: isShared) {
                case .success(let image): return .success(image)
                case .failure(let error): return .failure(error)
                }
            case .cancelled: return .failure(owner.cancelled)
            case .nothing: return nil
            }
        }

        public mutating func next() async -> Event? {
            await next(isolation: nil)
        }
    }
}

/// The events of one load of bytes, in order: progress, previews if requested, then one ending, `success` or `failure`,
/// after which the sequence ends. Otherwise like ``LoadEvents``.
public struct DataEvents: AsyncSequence, Sendable {
    /// An event of a load of bytes.
    public enum Event: Sendable {
        /// The progress of the fetch, as in ``LoadEvents/Event/progress(_:)``.
        case progress(ImageTask.Progress)
        /// A partial image, better than the one before. See ``ImageRequest/previews``.
        case preview(ImagePreview)
        /// The ending of a successful load, whose body was not decoded.
        case success(LoadedResponse)
        /// The ending of a failed or cancelled load.
        case failure(LoadError)
    }

    public typealias Element = Event
    public typealias Failure = Never

    private let owner: EventOwner

    init(task: ImageTask) {
        owner = EventOwner(task)
    }

    /// The task behind the events, for changing its priority or cancelling it.
    public var task: ImageTask { owner.task }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(owner: owner)
    }

    /// The iterator of the events. The first call of `next()` starts the load.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let owner: EventOwner
        private var hasEnded = false

        fileprivate init(owner: EventOwner) {
            self.owner = owner
        }

        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Event? {
            guard !hasEnded else { return nil }
            let event = await owner.next()
            hasEnded = event.isLast
            switch event {
            case .news(.progress(let progress)): return .progress(progress)
            case .news(.preview(let box)): return .preview(box.preview)
            case .news(.stale): preconditionFailure("a task for bytes received an image")
            case .ended(let result, let isShared):
                switch result.response(isShared: isShared) {
                case .success(let response): return .success(response)
                case .failure(let error): return .failure(error)
                }
            case .cancelled: return .failure(owner.cancelled)
            case .nothing: return nil
            }
        }

        public mutating func next() async -> Event? {
            await next(isolation: nil)
        }
    }
}

/// The load whose events are iterated. Cancels it when the sequence and its iterators are released.
private final class EventOwner: Sendable {
    let task: ImageTask
    private let hasBegun = Guarded(false)

    init(_ task: ImageTask) {
        self.task = task
    }

    deinit {
        task.cancel()
    }

    /// Returns the next event. The first call starts the load, however many iterators there are.
    func next(isolation actor: isolated (any Actor)? = #isolation) async -> ImageTask.Event {
        await withTaskCancellationHandler {
            if Task.isCancelled { task.cancel() }
            begin()
            return await task.nextEvent()
        } onCancel: {
            task.cancel()
        }
    }

    private func begin() {
        let isFirst = hasBegun.withLock { hasBegun in
            defer { hasBegun = true }
            return !hasBegun
        }
        if isFirst { task.start() }
    }

    var cancelled: LoadError { .cancelled(url: task.plan?.url.string, stage: .request) }
}

extension ImageTask.Event {
    /// Whether no other event follows.
    fileprivate var isLast: Bool { if case .news = self { false } else { true } }
}
