import InflightConcurrency

/// What happens in one load, in order: progress, previews where the request wants them, a picture that is stale where HTTP
/// allows it, then one ending, `success` or `failure`, after which the sequence ends.
///
/// Progress and previews that nobody asked for in time are left out, so nothing piles up. It can be gone through once. Letting go of
/// the sequence and its iterator cancels the load; so does cancelling the task that goes through it, whose next event is
/// then a failure with the code ``LoadError/Code/cancelled``.
public struct LoadEvents: AsyncSequence, Sendable {
    public enum Event: Sendable {
        case progress(LoadProgress)
        /// What there is of the picture: each better than the one before, and none after the ending. See
        /// ``ImageRequest/previews``.
        case preview(ImagePreview)
        /// What is stored, past its time, while its origin is asked for what follows (`stale-while-revalidate`, RFC 5861).
        case stale(LoadedImage)
        case success(LoadedImage)
        case failure(LoadError)
    }

    public typealias Element = Event
    public typealias Failure = Never

    /// Cancels when the last who could ask for an event is gone.
    fileprivate final class Owner: Sendable {
        let task: ImageTask
        private let hasBegun = Guarded(false)

        init(_ task: ImageTask) {
            self.task = task
        }

        /// Sets the load going, once, however many iterators there are.
        func begin() {
            let isFirst = hasBegun.withLock { hasBegun in
                defer { hasBegun = true }
                return !hasBegun
            }
            if isFirst { task.engine.begin(task) }
        }

        deinit {
            task.cancel()
        }
    }

    private let owner: Owner

    init(task: ImageTask) {
        owner = Owner(task)
    }

    /// The task behind the events: to change its priority, or to cancel it.
    public var task: ImageTask { owner.task }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(owner: owner)
    }

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
