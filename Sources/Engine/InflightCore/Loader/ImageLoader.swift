public import InflightConcurrency

/// A loader of the image for one place on the screen: one request at a time, each replacing the one before.
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
///         show(loader.picture)          // the image if it is in memory, else the placeholder
///     }
/// }
/// ```
///
/// - Thread: created with one serial callback queue, or with `.main`, and used only there. Elsewhere every method and
///   property traps, in release builds too, with a message that names the expected and the actual queue. The loader
///   cannot check that a queue is serial. The class is not `Sendable`: hold it from elsewhere by a `ConfinedReference`.
/// - Order: ``onChange`` is called on the callback queue, never inside a call of yours: read the changes that your own
///   call made after it. Progress comes before the ending.
/// - Priority: among queued loads of one priority, those of loaders go first, the newest before the others, because the
///   newest place on the screen is the one in view (``ImageRequest/order``).
/// - Late results: once ``request`` was set to another one, no result of the old one is shown or delivered any more, in
///   whatever order results arrive.
/// - Cancellation: by ``cancel()``, ``reset()``, another request, and by releasing the loader, on any thread. Jobs with
///   other subscribers continue. Jobs that two requests share (one URL in two sizes) continue when one replaces the
///   other.
/// - Release: the handler and its captures are released on the callback queue, or inside your call that replaces it.
///   The loader retains its handler: capture the view `weak`.
/// - Errors: ``State/failed(_:)``, with ``failurePicture`` to show. It stays until ``start()`` or another request. If
///   the callback queue drops the result (see `CallbackQueue.mayDrop`), the loader becomes idle.
/// - Cost: about 50 ns for each use on a dispatch queue, to check the queue; to set a request, two passes over its URL
///   and one lookup in the memory cache.
public final class ImageLoader: Confined {
    /// The state of a loader.
    public enum State: Sendable {
        /// Nothing is loaded or loading.
        case idle
        /// The request is loading. The progress is nil until it is known.
        case loading(ImageTask.Progress?)
        /// The image was loaded, or found in memory.
        case loaded(LoadedImage)
        /// The load failed. ``start()`` retries it.
        case failed(LoadError)
    }

    /// The callback queue, the only one on which the loader may be used. May be read on any thread.
    public let confinement: CallbackQueue
    private let pipeline: ImagePipeline
    private var wanted: ImageRequest?
    /// ``wanted`` as it is loaded, with the loader's processors.
    private var subject: ImageTask.Subject?
    private var current = State.idle
    private var latestPreview: ImagePreview?
    /// The number of loads begun. Only the latest counts: events of earlier ones change nothing, in whatever order they
    /// come.
    private var loads = 0
    private var addedProcessors: [ImageProcessor] = []
    private var pictures: (placeholder: PixelBuffer?, failure: PixelBuffer?) = (nil, nil)
    private var handler: ((ImageLoader) -> Void)?
    private var task: ImageTask?
    /// The number of fallbacks that the last load tried; 0 if it found its image in memory.
    private var triedFallbacks = 0
    /// The number of calls that have set the request or the processors.
    private var changes = 0
    /// Retained by the completion closure. If it becomes nil before the load has ended, the queue has dropped that
    /// closure.
    private weak var delivery: Delivery?
    /// The calls of ``ended(isolation:)`` in progress.
    private var waiters: [Bridge] = []

    private final class Delivery: Sendable {}

    /// Creates an idle loader that is used on the main actor. Its handler may touch views.
    ///
    /// - Parameters:
    ///   - pipeline: the pipeline that loads the images, retained by the loader.
    ///   - callbackQueue: `.main`.
    @MainActor
    public init(pipeline: ImagePipeline, callbackQueue: MainCallbackQueue) {
        self.pipeline = pipeline
        confinement = callbackQueue.queue
    }

    /// Creates an idle loader that is used on `callbackQueue` alone. This initializer may be called elsewhere.
    ///
    /// - Parameters:
    ///   - pipeline: the pipeline that loads the images, retained by the loader.
    ///   - callbackQueue: the queue for every use of the loader and for ``onChange``. It must be serial.
    public init(pipeline: ImagePipeline, callbackQueue: CallbackQueue) {
        self.pipeline = pipeline
        confinement = callbackQueue
    }

    deinit {
        task?.cancel()
        for waiter in waiters { waiter.open() }
        // `deinit` may run on any thread. Take the handler out, so that nothing here retains it and its captures are
        // released on the confinement queue.
        if handler != nil { confinement.release(ConfinedBox(handler.take())) }
    }

    // MARK: Request

    /// The request to show. Setting it starts its load and replaces the one before.
    ///
    /// An image in memory is there when this returns. A request with the same key as the one before, by which the
    /// pipeline would coalesce the two, starts no new load while that one is loading, loaded or failed. What is in no
    /// key applies to the load in progress: ``ImageRequest/priority``, ``ImageRequest/fallbacks`` and
    /// ``ImageRequest/storedRepresentation``. ``ImageRequest/previews`` and ``ImageRequest/order`` apply from the next
    /// load on. Other limits start a new load, which joins the one before. If a fallback that was tried is not in the
    /// new request, or a failed request gets other fallbacks, a new load starts. Setting nil is ``reset()``.
    public var request: ImageRequest? {
        get {
            checkConfinement()
            return wanted
        }
        set {
            checkConfinement()
            noticeDroppedDelivery()
            guard let newValue else { return reset() }
            guard let subject = subject(of: newValue, processors: addedProcessors) else { return }
            wanted = newValue
            let isSame = isSame(subject)
            self.subject = subject
            if !isSame { return load() }
            // A failed load is repeated by `start()` alone.
            if case .idle = current { load() }
        }
    }

    /// The processors that are applied to every image of this loader, after those of the request. Changing them
    /// restarts the load, unless the loader is idle; jobs that both loads have in common continue.
    public var processors: [ImageProcessor] {
        get {
            checkConfinement()
            return addedProcessors
        }
        set {
            checkConfinement()
            noticeDroppedDelivery()
            addedProcessors = newValue
            guard let wanted, let subject = subject(of: wanted, processors: newValue) else { return }
            let isSame = isSame(subject)
            self.subject = subject
            if case .idle = current { return }
            if !isSame { load() }
        }
    }

    /// Shows the image of a request, a URL or a URL in text form: sets ``request``.
    ///
    /// - Parameter request: the request. If its URL is malformed, or its body is no image, the loader ends as
    ///   ``State/failed(_:)``.
    public func load(_ request: some ImageRequestConvertible) { self.request = request.imageRequest }

    /// Loads the request if it was cancelled, and retries it if it failed. Otherwise does nothing.
    public func start() {
        checkConfinement()
        noticeDroppedDelivery()
        switch current {
        case .idle, .failed: if subject != nil { load() }
        case .loading, .loaded: break
        }
    }

    /// Cancels the load. The loader becomes idle, and ``onChange`` is not called until ``start()`` or a new request.
    /// Does nothing if the load has ended.
    public func cancel() {
        checkConfinement()
        if isLoading { stop() }
    }

    /// Cancels the load, and releases the request and the image, for a cell that is about to be reused. Handler,
    /// processors and placeholders stay.
    public func reset() {
        checkConfinement()
        changes += 1
        wanted = nil
        subject = nil
        stop()
    }

    /// Returns when nothing is loading: the load has ended and ``onChange`` was called, or it was cancelled or replaced
    /// by nothing. Returns at once if nothing is loading, or if the surrounding task is cancelled.
    ///
    /// Call it where the loader is used. If the callback queue drops the result, it returns when the loader is next
    /// used.
    public func ended(isolation: isolated (any Actor)? = #isolation) async {
        checkConfinement()
        noticeDroppedDelivery()
        guard isLoading else { return }
        let bridge = Bridge()
        waiters.append(bridge)
        await withTaskCancellationHandler {
            await bridge.wait()
        } onCancel: {
            bridge.open()
        }
    }

    private func resumeWaiters() {
        guard !waiters.isEmpty, !isLoading else { return }
        let resumed = waiters
        waiters = []
        for waiter in resumed { waiter.open() }
    }

    // MARK: State

    /// The state of the load: idle, loading, loaded or failed.
    public var state: State {
        checkConfinement()
        noticeDroppedDelivery()
        return current
    }

    /// The latest preview of the image that is loading; nil before the first, when the load has ended, and if
    /// ``ImageRequest/previews`` is nil.
    public var preview: ImagePreview? {
        checkConfinement()
        return latestPreview
    }

    /// The picture to show now: the loaded image; the ``preview`` while it loads; the ``failurePicture`` if it failed;
    /// else the ``placeholder``, which also replaces a missing failure picture. If a preview is transparent
    /// (``ImagePreview/coversAll``), the placeholder may be drawn below it.
    public var picture: PixelBuffer? {
        checkConfinement()
        switch current {
        case .loaded(let image): return image.pixels
        case .failed: return pictures.failure ?? pictures.placeholder
        case .idle, .loading: return latestPreview?.pixels ?? pictures.placeholder
        }
    }

    /// The picture to show while there is no image; nil for none. Setting it does not call ``onChange``.
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

    /// The picture to show if the load failed; if nil, the ``placeholder``. Setting it does not call ``onChange``.
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

    /// The handler of changes, called on the callback queue when progress, a preview, an image or a failure has
    /// arrived. It gets the loader, which it thus need not capture. Never called for changes that a call of yours made.
    ///
    /// It may be set, replaced or cleared at any time, also while it runs; the handler set at the time of an event is
    /// called. It may do anything, such as set another request or release the loader.
    public var onChange: ((ImageLoader) -> Void)? {
        get {
            checkConfinement()
            return handler
        }
        set {
            checkConfinement()
            // Take the old handler out first, because releasing its captures may use this loader.
            let old = handler.take()
            handler = newValue
            withExtendedLifetime(old) {}
        }
    }

    // MARK: Loading

    /// Returns the request as it is loaded, with the loader's processors after its own, or nil if the caller's code,
    /// which reads the identity of a processor, has meanwhile changed what this loader is to show.
    private func subject(of request: ImageRequest, processors: [ImageProcessor]) -> ImageTask.Subject? {
        changes += 1
        let number = changes
        var request = request
        // Without processors, keep the request's compact default form.
        if !processors.isEmpty { request.processors += processors }
        let subject = pipeline.engine.subject(of: request, goal: .image)
        return number == changes ? subject : nil
    }

    /// Returns whether the current load, or its result, serves the subject too. If so, it is applied to the load in
    /// progress.
    private func isSame(_ subject: ImageTask.Subject) -> Bool {
        guard let before = self.subject,
            subject.isSame(as: before, agreeingIn: pipeline.images.fieldsExcludedFromKey)
        else { return false }
        let (old, new) = (before.request.fallbacks, subject.request.fallbacks)
        return switch current {
        case .idle: true
        case .loading: task?.amend(to: subject) ?? (old == new)
        case .loaded: new.starts(with: old.prefix(triedFallbacks))
        case .failed: old == new
        }
    }

    private var isLoading: Bool { if case .loading = current { true } else { false } }

    /// Returns whether the load of this number is in progress and wanted.
    private func awaits(_ number: Int) -> Bool { number == loads && isLoading }

    private func enter(_ state: State) {
        current = state
        latestPreview = nil
    }

    private func stop() {
        enter(.idle)
        task.take()?.cancel()
        resumeWaiters()
    }

    /// Loads the request. The load before leaves afterwards, so that the jobs that both have in common continue.
    private func load() {
        let old = task.take()
        loads += 1
        enter(.loading(nil))
        begin(loads)
        old?.cancel()
        resumeWaiters()
    }

    private func begin(_ number: Int) {
        guard let subject else { return }
        triedFallbacks = 0
        let image = pipeline.cachedForLoad(subject)
        // Reading a processor's identity runs the caller's code, which may have set another request.
        guard awaits(number) else { return }
        if let image { return enter(.loaded(image)) }
        let delivery = Delivery()
        let progressed = callback { (loader, progress: ImageTask.Progress) in
            guard loader.awaits(number) else { return }
            loader.current = .loading(progress)
            loader.handler?(loader)
        }
        let previewed = callback { (loader, preview: ImagePreview) in
            guard loader.awaits(number) else { return }
            loader.latestPreview = preview
            loader.handler?(loader)
        }
        let ended = callback { (loader, result: Result<LoadedImage, LoadError>) in
            loader.didEnd(number, with: result)
        }
        let task = pipeline.load(subject, on: confinement, order: .lastInFirstOut) { _, progress in
            progressed(progress)
        } preview: { _, preview in
            previewed(preview)
        } completion: { _, result in
            withExtendedLifetime(delivery) { ended(result) }
        }
        guard awaits(number) else { return task.cancel() }
        self.task = task
        self.delivery = delivery
    }

    private func didEnd(_ number: Int, with result: Result<LoadedImage, LoadError>) {
        guard awaits(number) else { return }
        switch result {
        case .success(let image): enter(.loaded(image))
        case .failure(let error): enter(.failed(error))
        }
        triedFallbacks = Int(task?.takenFallbacks ?? 0)
        task = nil
        handler?(self)
        resumeWaiters()
    }

    /// The callback queue has dropped the ending, which is never delivered.
    private func noticeDroppedDelivery() {
        guard task != nil, delivery == nil else { return }
        task = nil
        if isLoading { enter(.idle) }
        resumeWaiters()
    }
}
