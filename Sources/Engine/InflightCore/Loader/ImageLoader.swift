public import InflightConcurrency

/// What one place on the screen shows: it loads one request at a time, and a new request replaces the old one.
///
/// ```swift
/// @MainActor final class PhotoView {
///     let loader: ImageLoader
///
///     init(pipeline: ImagePipeline) {
///         loader = ImageLoader(pipeline: pipeline, callbackQueue: .main)
///         loader.onChange = { [weak self] loader in self?.show(loader.picture) }
///     }
///
///     func bind(_ url: String) {
///         loader.request = ImageRequest(url, resize: Resize(width: 320))
///         show(loader.picture)          // the picture itself where it is in memory, else the placeholder
///     }
/// }
/// ```
///
/// - Thread: made with one serial callback queue, or with `.main`; used only there. Elsewhere every method and property
///   stops the program at once, in release builds too, with a message that names the queue that was expected and the one
///   that was found. Whether a queue is serial cannot be asked of it. The class is not `Sendable`: hold it from
///   elsewhere by a `ConfinedReference`.
/// - Order: ``onChange`` is called on the callback queue, never inside a call of yours: what your own call changed you
///   read after it. Progress comes before the ending.
/// - Late answers: once ``request`` was set to another one, nothing of the old one is shown or told any more, in whatever
///   order the answers come.
/// - Cancellation: by ``cancel()``, ``reset()``, another request, and by releasing the loader, on any thread. Work that
///   others wait for goes on. Two requests that share work (one URL in two sizes) go on sharing it when one replaces the
///   other.
/// - Release: the handler, and what it captured, is released on the callback queue, or inside the call of yours that
///   replaces it. The loader holds its handler: capture the view `weak`.
/// - Errors: ``State/failed(_:)``, with ``failurePicture`` to show. It stays until ``start()`` or another request. An
///   answer that the callback queue drops (see `CallbackQueue.mayDrop`) leaves the loader idle.
/// - Cost: about 50 ns for each use on a dispatch queue, to look where it is; to set a request, two looks at its URL and
///   one at the memory cache.
public final class ImageLoader: Confined {
    public enum State: Sendable {
        /// Nothing is loaded or under way.
        case idle
        /// How far the bytes have come, as soon as that is known.
        case loading(LoadProgress?)
        case loaded(LoadedImage)
        case failed(LoadError)
    }

    typealias Machine = LoaderMachine<ImageRequest, LoadProgress, ImagePreview, LoadedImage, LoadError>

    public let confinement: CallbackQueue
    private let pipeline: ImagePipeline
    private var machine = Machine()
    private var wanted: ImageRequest?
    private var addedProcessors: [ImageProcessor] = []
    private var pictures: (placeholder: PixelBuffer?, failure: PixelBuffer?) = (nil, nil)
    private var handler: ((ImageLoader) -> Void)?
    private var task: ImageTask?
    /// Held by the closure that will be called with the ending: gone without it where the queue dropped it.
    private weak var answer: Answer?

    private final class Answer: Sendable {
        func came() {}
    }

    /// A loader that is used on the main actor; its handler may touch views.
    @MainActor
    public init(pipeline: ImagePipeline, callbackQueue: MainCallbackQueue) {
        self.pipeline = pipeline
        confinement = callbackQueue.queue
    }

    /// A loader that is used on `callbackQueue`, which has to be serial. It may be made elsewhere.
    public init(pipeline: ImagePipeline, callbackQueue: CallbackQueue) {
        self.pipeline = pipeline
        confinement = callbackQueue
    }

    deinit {
        task?.cancel()
        // On any thread. Taken, so that nothing here holds the handler any more: what it captured goes where it would
        // have been called.
        if handler != nil { confinement.release(ConfinedBox(handler.take())) }
    }

    // MARK: What is wanted

    /// What is shown here. Setting it starts, and replaces what was there before.
    ///
    /// A picture that is in memory is there when this returns. One that asks for the same as before begins no new load
    /// while that is under way, has been loaded or has failed; its priority is taken over. `nil` is ``reset()``.
    public var request: ImageRequest? {
        get {
            checkConfinement()
            return wanted
        }
        set {
            checkConfinement()
            noticeDroppedAnswer()
            let altered = newValue?.processed(by: addedProcessors)
            let isSame = isSame(altered)
            wanted = newValue
            perform(machine.requestSet(altered, isSame: isSame))
            if isSame, let priority = altered?.priority { task?.priority = priority }
        }
    }

    /// What is done to every picture here, after the processors of the request. Changing them loads anew what is shown or
    /// under way; what they have in common goes on.
    public var processors: [ImageProcessor] {
        get {
            checkConfinement()
            return addedProcessors
        }
        set {
            checkConfinement()
            noticeDroppedAnswer()
            let altered = wanted?.processed(by: newValue)
            let isSame = isSame(altered)
            addedProcessors = newValue
            if let altered { perform(machine.requestAltered(altered, isSame: isSame)) }
        }
    }

    /// Begins to load the request where it was cancelled, and tries again where it has failed. Otherwise nothing.
    public func start() {
        checkConfinement()
        noticeDroppedAnswer()
        perform(machine.startCalled())
    }

    /// Stops what is under way: idle, and silent until ``start()`` or a request. Without effect when it has ended.
    public func cancel() {
        checkConfinement()
        perform(machine.cancelCalled())
    }

    /// Stops what is under way and forgets request and picture. Handler, processors and placeholders stay: for a cell that
    /// waits to be used again.
    public func reset() {
        checkConfinement()
        wanted = nil
        perform(machine.resetCalled())
    }

    // MARK: What is there

    /// How far it has come.
    public var state: State {
        checkConfinement()
        noticeDroppedAnswer()
        switch machine.state {
        case .idle: return .idle
        case .loading(let progress): return .loading(progress)
        case .loaded(let image): return .loaded(image)
        case .failed(let error): return .failed(error)
        }
    }

    /// What there is of the picture that is under way, where the request wants previews.
    public var preview: ImagePreview? {
        checkConfinement()
        return machine.preview
    }

    /// What is to be shown now: the loaded picture; while it loads its ``preview``; where it failed the ``failurePicture``;
    /// else the ``placeholder``, which also stands in for a failure picture that is not there. Where a preview is
    /// transparent (``ImagePreview/coversAll``), the placeholder may be drawn below it.
    public var picture: PixelBuffer? {
        checkConfinement()
        switch machine.state {
        case .loaded(let image): return image.pixels
        case .failed: return pictures.failure ?? pictures.placeholder
        case .idle, .loading: return machine.preview?.pixels ?? pictures.placeholder
        }
    }

    /// Shown while there is no picture.
    public var placeholder: PixelBuffer? {
        get {
            checkConfinement()
            return pictures.placeholder
        }
        set {
            checkConfinement()
            pictures.placeholder = newValue
        }
    }

    /// Shown where the load failed.
    public var failurePicture: PixelBuffer? {
        get {
            checkConfinement()
            return pictures.failure
        }
        set {
            checkConfinement()
            pictures.failure = newValue
        }
    }

    /// Called on the callback queue when progress, a preview, a picture or a failure has come, with the loader, so that it need not
    /// capture it. Never called for what a call of yours changed.
    ///
    /// It may be set, replaced or cleared at any time, also while it runs; the one that is set when something comes is
    /// called. It may do anything: set another request, or let go of the loader.
    public var onChange: ((ImageLoader) -> Void)? {
        get {
            checkConfinement()
            return handler
        }
        set {
            checkConfinement()
            // Taken out first: what the old one captured may use this loader when it goes.
            let old = handler.take()
            handler = newValue
            withExtendedLifetime(old) {}
        }
    }

    // MARK: The load

    private func isSame(_ request: ImageRequest?) -> Bool {
        guard let request, let current = machine.request else { return false }
        return request.asksForTheSame(as: current)
    }

    private func perform(_ actions: Machine.Actions) {
        let old = task
        if actions.leavesOld || actions.begins != nil { task = nil }
        if let number = actions.begins { begin(number) }
        if actions.leavesOld { old?.cancel() }
    }

    private func begin(_ number: Int) {
        guard let request = machine.request else { return }
        let image = pipeline.cachedForLoad(request)
        // A processor's identity, which was asked for, is code of the caller: it may have set another request.
        guard machine.awaits(number) else { return }
        if let image { return machine.foundInMemory(image, for: number) }
        let answer = Answer()
        let progressed = callback { (loader, progress: LoadProgress) in
            loader.didProgress(to: progress, in: number)
        }
        let previewed = callback { (loader, preview: ImagePreview) in
            if loader.machine.previewed(preview, in: number) { loader.handler?(loader) }
        }
        let ended = callback { (loader, result: Result<LoadedImage, LoadError>) in
            loader.didEnd(number, with: result)
        }
        let task = pipeline.load(request, on: confinement) { _, progress in
            progressed(progress)
        } preview: { _, preview in
            previewed(preview)
        } completion: { _, result in
            answer.came()
            ended(result)
        }
        guard machine.awaits(number) else { return task.cancel() }
        self.task = task
        self.answer = answer
    }

    private func didProgress(to progress: LoadProgress, in number: Int) {
        if machine.progressed(to: progress, in: number) { handler?(self) }
    }

    private func didEnd(_ number: Int, with result: Result<LoadedImage, LoadError>) {
        let outcome: Machine.State =
            switch result {
            case .success(let image): .loaded(image)
            case .failure(let error): .failed(error)
            }
        guard machine.loadEnded(number, with: outcome) else { return }
        task = nil
        handler?(self)
    }

    private func noticeDroppedAnswer() {
        guard task != nil, answer == nil else { return }
        task = nil
        machine.answerDropped()
    }
}
