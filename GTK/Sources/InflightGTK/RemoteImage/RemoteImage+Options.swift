public import InflightCore

extension RemoteImage {
    /// The behaviour of one place on the screen. Changes take effect from the next
    /// ``RemoteImage/bind(_:placeholder:description:)`` on.
    public struct Options: Sendable {
        /// The size at which the image is loaded.
        public enum Size: Sendable, Hashable {
            /// The widget's size, in pixels of its monitor. The load begins once the widget has been laid out. If that
            /// size changes by more than a tenth, in a resize or on another monitor, the image is loaded again.
            case allocation
            /// A size in points. The widget requests this size from its parent from the start, so the layout does not
            /// jump when the image arrives. It is also the size request of a `GtkPicture`, unless the program has set
            /// one: without it, a row of a list would be as low as its other widgets.
            case points(width: Int, height: Int)
            /// The size that the request specifies.
            case request
        }

        /// The way in which the image fits the widget.
        public enum Fit: Sendable, Hashable {
            /// Fits the whole image inside the widget, centred. Parts of the widget may stay empty.
            case contain
            /// Fills the widget and crops the overflow.
            case cover
            /// Fills the widget without preserving the aspect ratio.
            case fill
        }

        /// The size at which the image is loaded. By default, that of the widget.
        public var size = Size.allocation
        /// The way in which the image fits the widget.
        public var fit = Fit.cover
        /// The processors applied to every image here, after those of its request.
        public var processors: [ImageProcessor] = []
        /// The time after which a running load shows a spinner.
        public var spinnerDelay: Duration = .milliseconds(400)
        /// Whether the spinner shows the fraction of bytes received, if the server sent their number.
        public var showsProgress = true
        /// The duration of the fade-in. An image that was in memory appears at once, and so does every image if the
        /// desktop's animations are off.
        public var fade: Duration = .milliseconds(180)
        /// Whether animated images play. They pause while they are not visible.
        public var animates = true
        /// The icon of the icon theme that is drawn after a failed load.
        public var failureIcon = "image-missing-symbolic"
        /// Whether a click on a failed image retries its load.
        public var retriesOnClick = true
        /// The load priority of visible widgets.
        public var visiblePriority = ImageRequest.Priority.high
        /// The load priority of widgets that are likely to become visible next.
        public var nearPriority = ImageRequest.Priority.low
        /// The load priority of bound widgets that are further away. If nil, the default, their loads do not begin, and
        /// running ones are cancelled.
        public var awayPriority: ImageRequest.Priority?

        /// Creates the default options.
        public init() {}

        var priorities: CellMachine.Priorities {
            CellMachine.Priorities(visible: visiblePriority, near: nearPriority, away: awayPriority)
        }
    }

    /// The content that is drawn until the image is available.
    public enum Placeholder: Sendable {
        /// Nothing.
        case none
        /// One colour.
        case color(PixelColor)
        /// A BlurHash, decoded off the main thread. Its average colour is drawn at once.
        case blurHash(BlurHash)
        /// A ThumbHash, decoded off the main thread. Its average colour is drawn at once.
        case thumbHash(ThumbHash)
        /// Decoded pixels, drawn at once.
        case image(PixelBuffer)
    }

    /// The state of the bound image.
    public enum State: Sendable {
        /// Nothing is bound.
        case empty
        /// Bound, but not loading: not laid out yet, or neither visible nor likely to become visible next.
        case waiting
        /// Being loaded, with the progress if there is any yet.
        case loading(ImageTask.Progress?)
        /// Loaded and shown.
        case loaded
        /// Not loaded because of this error. ``RemoteImage/retry()`` loads again.
        case failed(LoadError)
    }
}
