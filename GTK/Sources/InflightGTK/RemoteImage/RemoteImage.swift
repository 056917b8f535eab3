public import CInflightGTK
internal import InflightConcurrency
public import InflightCore

/// One place on the screen that shows a picture from somewhere: in a `GtkPicture`, in a button, or wherever a
/// `GdkPaintable` goes.
///
/// ```swift
/// let image = RemoteImage(pipeline: pipeline)
/// image.attach(picture: gtk_picture_new().opaque)          // once for each cell
/// image.bind(ImageRequest("https://example.org/1.jpg"))    // as often as you like
/// ```
///
/// Made for the cells of lists, which are bound to one row after the other. Being bound is no reason to load: what is seen
/// is loaded first, then what is likely to be seen next; what has left the screen is cancelled. Where the widget is, is
/// looked at before the next frame whenever something moves.
///
/// - Thread: the main one, which GTK's loop runs on.
/// - Order: whatever comes late for a row that was here before is dropped; no frame ever shows the picture of another row.
/// - Cancellation: ``unbind()``, another ``bind(_:placeholder:description:)``, leaving the screen, and the widget's end.
/// - Release: the widget keeps this alive; so does whoever else holds it. Released, it stops its load.
/// - Errors: said by the widget's tooltip and by ``state``; the failure icon is drawn; ``retry()`` tries again.
/// - Cost: a picture that is in memory takes one look at the cache and a texture, about 10 µs; one that is not a
///   placeholder now, and the beginning of a load later.
@safe @MainActor
public final class RemoteImage {
    public var options = Options()
    /// Called when what ``state`` says has changed, but not for what a call of yours changed.
    public var onChange: ((RemoteImage) -> Void)?

    let pipeline: ImagePipeline
    let loader: ImageLoader
    var machine = CellMachine()
    /// The `InflightPaintable` that draws, of which this has a reference.
    let canvas: OpaquePointer
    /// The widget that it is drawn in, which outlives its connection with this.
    var widget: UnsafeMutablePointer<GtkWidget>?
    var watch: ViewportWatch?
    /// As it was bound.
    var bound: ImageRequest?
    /// What the loader was asked for, or was found in memory for.
    var asked: ImageRequest?
    var shown: Texture?
    var placeholder: PlaceholderTexture?
    var drawing = Drawing()
    var motion: Motion?

    private static let name = "inflight-remote-image"

    public init(pipeline: ImagePipeline) {
        MainLoop.attach()
        self.pipeline = pipeline
        loader = ImageLoader(pipeline: pipeline, callbackQueue: .main)
        unsafe canvas = inflight_paintable_new()
        loader.onChange = { [weak self] _ in self?.loaderChanged() }
        let room = unsafe Unmanaged.passRetained(Room(self)).toOpaque()
        unsafe inflight_paintable_on_room(
            canvas,
            { data in
                let room = unsafe Unmanaged<Room>.fromOpaque(data).takeUnretainedValue()
                MainActor.assumeIsolated { room.image?.placeChanged() }
            }, room, { unsafe Unmanaged<Room>.fromOpaque($0).release() })
    }

    @MainActor private final class Room {
        weak var image: RemoteImage?
        init(_ image: RemoteImage) {
            self.image = image
        }
    }

    isolated deinit {
        motion?.stop()
        unsafe g_object_unref(UnsafeMutableRawPointer(canvas))
    }

    // MARK: Where it is drawn

    /// The `GdkPaintable`, for whoever shows it in a widget of another kind than those of `attach`.
    public var paintable: OpaquePointer { unsafe canvas }

    /// Draws in a `GtkPicture`, which keeps this alive from now on.
    public func attach(picture: OpaquePointer) {
        unsafe gtk_picture_set_paintable(picture, canvas)
        unsafe gtk_picture_set_can_shrink(picture, 1)
        // The canvas knows itself how a picture lies in its room, also while there is none.
        unsafe gtk_picture_set_content_fit(picture, GTK_CONTENT_FIT_FILL)
        unsafe attach(widget: UnsafeMutablePointer<GtkWidget>(picture))
    }

    /// Puts a picture into a `GtkButton`; a click tries again where it has failed.
    public func attach(button: UnsafeMutablePointer<GtkButton>) {
        let picture = unsafe gtk_picture_new()!
        unsafe gtk_button_set_child(button, picture)
        unsafe attach(picture: OpaquePointer(picture))
        unsafe connectSignal(UnsafeMutableRawPointer(button), "clicked") { [weak self] in self?.clicked() }
    }

    /// Says in which widget ``paintable`` is shown: its place, size and scale are what counts, and it keeps this alive.
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

    /// What is attached to a widget: for factories of cells, which are handed the widget.
    public static func attached(to widget: UnsafeMutablePointer<GtkWidget>) -> RemoteImage? {
        unsafe g_object_get_data(UnsafeMutableRawPointer(widget).object, name).map {
            unsafe Unmanaged<RemoteImage>.fromOpaque($0).takeUnretainedValue()
        }
    }

    private var isAttached: Bool { unsafe widget != nil }

    // MARK: What is shown

    /// Shows the picture of a request, and nothing of the one before.
    ///
    /// - Parameters:
    ///   - placeholder: what is drawn until it is there.
    ///   - description: what it shows, for those who do not see it.
    public func bind(_ request: ImageRequest, placeholder: Placeholder = .none, description: String? = nil) {
        MainLoop.counted {
            clear()
            bound = request
            machine.priorities = options.priorities
            describe(description)
            showPlaceholder(placeholder)
            asked = sized(request)
            let image = asked.flatMap { pipeline.cached($0) }
            let actions = machine.bound(isInMemory: image != nil)
            if let image { show(image, fades: false) }
            perform(actions)
        }
    }

    /// Shows nothing. In any order with ``bind(_:placeholder:description:)``, as often as one likes.
    public func unbind() {
        MainLoop.counted {
            clear()
            watch?.remove(self)
            drawNothing()
        }
    }

    /// Tries again where it has failed; otherwise nothing.
    public func retry() {
        MainLoop.counted { perform(machine.retried()) }
    }

    public var state: State {
        switch machine.phase {
        case .empty: .empty
        case .waiting: .waiting
        case .loaded: .loaded
        case .loading: if case .loading(let progress) = loader.state { .loading(progress) } else { .loading(nil) }
        case .failed: if case .failed(let error) = loader.state { .failed(error) } else { .waiting }
        }
    }

    // MARK: What happens

    private func clear() {
        perform(machine.unbound())
        motion?.stop()
        motion = nil
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
        if actions.looks { lookSoon() }
        if let number = actions.waitsToSpin { waitToSpin(number) }
        if let spins = actions.spins { drawing.spins = spins }
        if actions.spins != nil { drawActivity() }
    }

    private func begin(_ priority: LoadPriority) {
        guard let bound, var request = asked ?? sized(bound) else { return }
        asked = request
        request.priority = priority
        hideFailure()
        if case .failed = loader.state, loader.request != nil { return loader.start() }
        loader.request = request
        loader.start()
        // What is in memory is there at once.
        if case .loaded = loader.state { loaderChanged(fades: false) }
    }

    private func loaderChanged(fades: Bool = true) {
        switch loader.state {
        case .idle: return
        case .loading:
            if let preview = loader.preview { show(preview) }
            drawActivity()
        case .loaded(let image):
            perform(machine.ended(hasPicture: true))
            show(image, fades: fades)
        case .failed(let error):
            perform(machine.ended(hasPicture: false))
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
