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

    /// Cancels the load when the sequence and its iterators are released.
    fileprivate final class Owner: Sendable {
        let task: ImageTask
        private let hasBegun = Guarded(false)

        init(_ task: ImageTask) {
            self.task = task
        }

        /// Starts the load, once, however many iterators there are.
        func begin() {
            let isFirst = hasBegun.withLock { hasBegun in
                defer { hasBegun = true }
                return !hasBegun
            }
            if isFirst { task.start() }
        }

        deinit {
            task.cancel()
        }
    }

    private let owner: Owner

    init(task: ImageTask) {
        owner = Owner(task)
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
        private let owner: Owner
        private var hasEnded = false

        fileprivate init(owner: Owner) {
            self.owner = owner
        }

        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Event? {
            guard !hasEnded else { return nil }
            let task = owner.task
            let event = await withTaskCancellationHandler {
                if Task.isCancelled { task.cancel() }
                owner.begin()
                return await task.nextEvent()
            } onCancel: {
                task.cancel()
            }
            switch event {
            case .news(.progress(let progress)): return .progress(progress)
            case .news(.preview(let box)): return .preview(box.preview)
            case .news(.stale(let result)):
                switch result.image(isShared: false) {
                case .success(let image): return .stale(image)
                case .failure(let error): return .failure(error)
                }
            case .ended(let result, let isShared):
                hasEnded = true
                switch result.image(isShared: isShared) {
                case .success(let image): return .success(image)
                case .failure(let error): return .failure(error)
                }
            case .cancelled:
                hasEnded = true
                return .failure(.cancelled(url: task.plan?.url.string, stage: .request))
            case .nothing:
                hasEnded = true
                return nil
            }
        }

        public mutating func next() async -> Event? {
            await next(isolation: nil)
        }
    }
}
