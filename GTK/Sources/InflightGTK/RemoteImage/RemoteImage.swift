public import CInflightGTK
internal import InflightConcurrency
public import InflightCore

/// A place on the screen that shows the image of a request, in a `GtkPicture`, in a button, or wherever a
/// `GdkPaintable` can be drawn.
///
/// ```swift
/// let image = RemoteImage(pipeline: pipeline)
/// image.attach(picture: gtk_picture_new().opaque)          // once for each cell
/// image.bind(ImageRequest("https://example.org/1.jpg"))    // as often as you like
/// ```
///
/// It is made for the cells of lists, which are bound to one row after another. Binding alone starts no load. Visible
/// cells are loaded first, then cells that are likely to become visible next. A cell that leaves the screen cancels its
/// load. Whenever something moves, the widget's position is checked before the next frame.
///
/// - Thread: the main thread, which runs GTK's loop.
/// - Order: late results for an earlier row are dropped. No frame ever shows the image of another row.
/// - Cancellation: ``unbind()``, another ``bind(_:placeholder:description:)``, leaving the screen, the widget's end.
/// - Release: the widget retains this object, and so does any other owner. Its last release cancels its load.
/// - Errors: shown by the failure icon, by the widget's tooltip and by ``state``. ``retry()`` loads again.
/// - Cost: for an image in memory, one cache lookup and a texture, about 10 µs. For any other, a placeholder at once
///   and the start of a load later.
@safe @MainActor
public final class RemoteImage {
    /// The behaviour of this place. Changes take effect from the next ``bind(_:placeholder:description:)`` on.
    public var options = Options()
    /// Called when progress, a preview, the image or a failure has arrived. Not called when a load begins or is
    /// cancelled, nor for changes made by the caller's own calls.
    public var onChange: ((RemoteImage) -> Void)?

    let pipeline: ImagePipeline
    let loader: ImageLoader
    var machine = CellMachine()
    /// The `InflightPaintable` that draws. This object holds a reference to it.
    let canvas: OpaquePointer
    /// The widget that shows the image. It outlives its connection to this object.
    var widget: UnsafeMutablePointer<GtkWidget>?
    /// The size request that this object has set; nil if the widget is not a `GtkPicture`.
    var sizeRequest: (width: Int32, height: Int32)?
    var watch: ViewportObserver?
    /// The request as it was bound.
    var bound: ImageRequest?
    /// The adapted request, as it was looked up in memory or given to the loader.
    var asked: ImageRequest?
    var shown: Texture?
    var placeholder: PlaceholderTexture?
    var drawing = Drawing()
    var player: FramePlayer?

    private static let name = "inflight-remote-image"

    /// Creates a place that shows nothing and is not attached to a widget. Calls ``MainLoop/attach()``.
    ///
    /// - Parameter pipeline: the pipeline that loads the images.
    public init(pipeline: ImagePipeline) {
        MainLoop.attach()
        self.pipeline = pipeline
        loader = ImageLoader(pipeline: pipeline, callbackQueue: .main)
        unsafe canvas = inflight_paintable_new()
        loader.onChange = { [weak self] _ in self?.loaderChanged() }
        let room = unsafe Unmanaged.passRetained(WeakBox(self)).toOpaque()
        unsafe inflight_paintable_on_room(
            canvas,
            { data in
                let room = unsafe Unmanaged<WeakBox>.fromOpaque(data).takeUnretainedValue()
                MainActor.assumeIsolated { room.image?.placeChanged() }
            }, room, { unsafe Unmanaged<WeakBox>.fromOpaque($0).release() })
    }

    @MainActor private final class WeakBox {
        weak var image: RemoteImage?
        init(_ image: RemoteImage) {
            self.image = image
        }
    }

    isolated deinit {
        player?.stop()
        unsafe g_object_unref(UnsafeMutableRawPointer(canvas))
    }

    // MARK: Attaching

    /// The `GdkPaintable`, for other widgets than `GtkPicture` and `GtkButton`. See ``attach(widget:)``.
    public var paintable: OpaquePointer { unsafe canvas }

    /// Draws in a `GtkPicture`, which retains this object from now on.
    public func attach(picture: OpaquePointer) {
        unsafe gtk_picture_set_paintable(picture, canvas)
        unsafe gtk_picture_set_can_shrink(picture, 1)
        // The canvas positions the image in its space by itself, also while there is no image.
        unsafe gtk_picture_set_content_fit(picture, GTK_CONTENT_FIT_FILL)
        unsafe attach(widget: UnsafeMutablePointer<GtkWidget>(picture))
        sizeRequest = (-1, -1)
        requestSize()
    }

    /// Adds an image to a `GtkButton`. A click retries a failed load.
    public func attach(button: UnsafeMutablePointer<GtkButton>) {
        let picture = unsafe gtk_picture_new()!
        unsafe gtk_button_set_child(button, picture)
        unsafe attach(picture: OpaquePointer(picture))
        unsafe connectSignal(UnsafeMutableRawPointer(button), "clicked") { [weak self] in self?.clicked() }
    }

    /// Uses the position, size and scale of the widget that shows ``paintable``. The widget retains this object.
    public func attach(widget: UnsafeMutablePointer<GtkWidget>) {
        precondition(!isAttached, "A RemoteImage is attached to one widget alone. Make another one.")
        unsafe self.widget = unsafe widget
        let object = UnsafeMutableRawPointer(widget)
        unsafe g_object_set_data_full(
            object.object, Self.name, Unmanaged.passRetained(self).toOpaque(),
            { data in
                let image = unsafe Unmanaged<RemoteImage>.fromOpaque(data!)
                MainActor.assumeIsolated { unsafe image.takeUnretainedValue().widgetWent() }
                unsafe image.release()
            })
        for signal in ["map", "unmap", "notify::scale-factor"] {
            unsafe connectSignal(object, signal) { [weak self] in self?.placeChanged() }
        }
        let click = unsafe gtk_gesture_click_new()!
        unsafe connectSignal(UnsafeMutableRawPointer(click), "released") { [weak self] in self?.clicked() }
        unsafe gtk_widget_add_controller(widget, click)
    }

    /// Returns the remote image that is attached to a widget, if any. Cell factories receive only the widget.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>) -> RemoteImage? {
        unsafe g_object_get_data(UnsafeMutableRawPointer(widget).object, name).map {
            unsafe Unmanaged<RemoteImage>.fromOpaque($0).takeUnretainedValue()
        }
    }

    private var isAttached: Bool { unsafe widget != nil }

    // MARK: Binding

    /// Shows the image of a request, and clears the previous one. An image in memory is shown at once. By default, any
    /// other is loaded when the widget is visible or likely to become visible next.
    ///
    /// - Parameters:
    ///   - request: the request. Its priority is replaced by that of the place; so is its size, unless ``Options/size``
    ///     is ``Options/Size/request``.
    ///   - placeholder: drawn until the image is available.
    ///   - description: the accessible description of the image; nil for none.
    public func bind(_ request: ImageRequest, placeholder: Placeholder = .none, description: String? = nil) {
        MainLoop.counted {
            clear()
            bound = request
            machine.priorities = options.priorities
            describe(description)
            showPlaceholder(placeholder)
            asked = sized(request)
            let image = asked.flatMap { pipeline.cache[$0] }
            let actions = machine.bound(isInMemory: image != nil)
            if let image { show(image, fades: false) }
            perform(actions)
        }
    }

    /// Shows nothing and cancels the load. May be called any number of times, in any order with
    /// ``bind(_:placeholder:description:)``.
    public func unbind() {
        MainLoop.counted {
            clear()
            watch?.remove(self)
            drawNothing()
        }
    }

    /// Loads again after a failure. Otherwise does nothing.
    public func retry() {
        MainLoop.counted { perform(machine.retried()) }
    }

    /// The state of the bound image.
    public var state: State {
        switch machine.phase {
        case .empty: .empty
        case .waiting: .waiting
        case .loaded: .loaded
        case .loading: if case .loading(let progress) = loader.state { .loading(progress) } else { .loading(nil) }
        case .failed: if case .failed(let error) = loader.state { .failed(error) } else { .waiting }
        }
    }

    // MARK: State changes

    private func clear() {
        perform(machine.unbound())
        player?.stop()
        player = nil
        loader.request = nil
        (bound, asked) = (nil, nil)
    }

    func perform(_ actions: CellMachine.Actions) {
        if actions.cancels { loader.cancel() }
        if let priority = actions.begins { begin(priority) }
        if let priority = actions.turns, var request = loader.request {
            request.priority = priority
            loader.request = request
        }
        if actions.looks { scheduleCheck() }
        if let number = actions.waitsToSpin { waitToSpin(number) }
        if let spins = actions.spins { drawing.spins = spins }
        if actions.spins != nil { drawActivity() }
    }

    private func begin(_ priority: ImageRequest.Priority) {
        guard let bound, var request = asked ?? sized(bound) else { return }
        asked = request
        request.priority = priority
        hideFailure()
        if case .failed = loader.state, loader.request != nil { return loader.start() }
        loader.request = request
        loader.start()
        // An image in memory is available at once.
        if case .loaded = loader.state { loaderChanged(fades: false) }
    }

    private func loaderChanged(fades: Bool = true) {
        switch loader.state {
        case .idle: return
        case .loading:
            if let preview = loader.preview { show(preview) }
            drawActivity()
        case .loaded(let image):
            perform(machine.ended(hasImage: true))
            show(image, fades: fades)
        case .failed(let error):
            perform(machine.ended(hasImage: false))
            showFailure(error)
        }
        onChange?(self)
    }

    private func clicked() {
        if options.retriesOnClick { retry() }
    }

    func spinnerDue(_ number: Int) {
        MainLoop.counted { perform(machine.spinnerDue(number)) }
    }

    private func widgetWent() {
        clear()
        watch?.remove(self)
        watch = nil
        unsafe widget = nil
    }
}
