public import InflightCore

extension RemoteImage {
    /// How one place on the screen behaves; what is set takes effect from the next ``RemoteImage/bind(_:placeholder:description:)`` on.
    public struct Options: Sendable {
        /// How large the picture is wanted.
        public enum Size: Sendable, Hashable {
            /// As large as the widget is, in pixels of its monitor. The load begins once the widget has its place; a widget
            /// that becomes larger, or comes to a monitor of another scale, has the picture made anew.
            case allocation
            /// In points; the widget asks its parent for so much room from the beginning, so nothing jumps when the picture
            /// comes. A parent that gives no more than the least, as `GtkViewport` does, gives a `GtkPicture` nothing: set the
            /// widget's size request there.
            case points(width: Int, height: Int)
            /// As the request says.
            case request
        }

        public enum Fit: Sendable, Hashable {
            case contain, cover, fill
        }

        public var size = Size.allocation
        public var fit = Fit.cover
        /// What is done to every picture here, after the processors of its request.
        public var processors: [ImageProcessor] = []
        /// How long a load may take before it is shown that something is under way.
        public var spinnerDelay: Duration = .milliseconds(400)
        /// Whether that shows how far the bytes have come, where the server said how many there are.
        public var showsProgress = true
        /// How long a picture takes to appear. One that was in memory is there at once, as is every picture where the
        /// desktop's animations are off.
        public var fade: Duration = .milliseconds(180)
        /// Whether pictures move that do. They rest while they are not seen.
        public var animates = true
        /// The icon, of the icon theme, that stands where a load has failed.
        public var failureIcon = "image-missing-symbolic"
        /// Whether a click on a picture that has failed tries again.
        public var retriesOnClick = true
        /// How urgent loads are whose widget is seen, and whose widget is likely to be seen next.
        public var visiblePriority = LoadPriority.high
        public var nearPriority = LoadPriority.low
        /// How urgent loads are of what is bound and further away. Without one, as it is at first, none is begun, and those
        /// under way are cancelled.
        public var awayPriority: LoadPriority?

        public init() {}

        var priorities: CellMachine.Priorities {
            CellMachine.Priorities(visible: visiblePriority, near: nearPriority, away: awayPriority)
        }
    }

    /// What is drawn until there is a picture.
    public enum Placeholder: Sendable {
        case none
        case color(PixelColor)
        /// Decoded away from the main thread; its average colour is there at once.
        case blurHash(BlurHash)
        case thumbHash(ThumbHash)
        case picture(PixelBuffer)
    }

    public enum State: Sendable {
        /// Nothing is bound.
        case empty
        /// Bound, and neither seen nor likely to be.
        case waiting
        case loading(LoadProgress?)
        case loaded
        case failed(LoadError)
    }
}
