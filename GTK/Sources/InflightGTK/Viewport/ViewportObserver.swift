internal import CInflightGTK

/// The visibility check for the remote images in one scrolled window. It runs once before the next frame, after
/// something was moved or bound, and not at all while nothing moves.
///
/// It lives as long as its window, and is used on the main thread.
@safe @MainActor
final class ViewportObserver {
    /// The scrolled window, which retains this object.
    private let window: UnsafeMutablePointer<GtkWidget>
    private var members: [ObjectIdentifier: Member] = [:]
    private var isTicking = false
    /// The scroll position at the last check, from which the scroll direction follows.
    private var last = (x: 0.0, y: 0.0)
    private var direction = (x: 0.0, y: 1.0)

    private struct Member {
        weak var image: RemoteImage?
    }

    private static let name = "inflight-viewport-watch"

    /// Returns the watch of the scrolled window that contains the widget, or nil if there is no such window.
    static func above(_ widget: UnsafeMutablePointer<GtkWidget>) -> ViewportObserver? {
        guard let window = unsafe inflight_scrolled_window_above(widget) else { return nil }
        if let there = unsafe g_object_get_data(UnsafeMutableRawPointer(window).object, name) {
            return unsafe Unmanaged<ViewportObserver>.fromOpaque(there).takeUnretainedValue()
        }
        let watch = unsafe ViewportObserver(window)
        unsafe g_object_set_data_full(
            UnsafeMutableRawPointer(window).object, name, Unmanaged.passRetained(watch).toOpaque(),
            { unsafe Unmanaged<ViewportObserver>.fromOpaque($0!).release() })
        return watch
    }

    private init(_ window: UnsafeMutablePointer<GtkWidget>) {
        unsafe self.window = unsafe window
        let scrolled = OpaquePointer(window)
        unsafe connect(gtk_scrolled_window_get_vadjustment(scrolled))
        unsafe connect(gtk_scrolled_window_get_hadjustment(scrolled))
    }

    private func connect(_ adjustment: UnsafeMutablePointer<GtkAdjustment>) {
        for signal in ["value-changed", "changed"] {
            unsafe connectSignal(UnsafeMutableRawPointer(adjustment), signal) { [weak self] in self?.scheduleCheck() }
        }
    }

    func add(_ image: RemoteImage) {
        members[ObjectIdentifier(image)] = Member(image: image)
        scheduleCheck()
    }

    func remove(_ image: RemoteImage) {
        members[ObjectIdentifier(image)] = nil
    }

    /// Schedules a check before the next frame, when everything that is bound by then has been laid out.
    func scheduleCheck() {
        guard !isTicking else { return }
        isTicking = true
        unsafe onFrames(of: window) { _ in
            MainLoop.counted { self.look() }
            return false
        }
    }

    private func look() {
        isTicking = false
        let scrolled = unsafe OpaquePointer(window)
        let x = unsafe gtk_adjustment_get_value(gtk_scrolled_window_get_hadjustment(scrolled))
        let y = unsafe gtk_adjustment_get_value(gtk_scrolled_window_get_vadjustment(scrolled))
        if x != last.x { direction.x = x > last.x ? 1 : -1 }
        if y != last.y { direction.y = y > last.y ? 1 : -1 }
        last = (x, y)
        let width = unsafe Double(gtk_widget_get_width(window)), height = unsafe Double(gtk_widget_get_height(window))
        let room = Viewport(width: width, height: height, direction: direction)
        var someWent = false
        for member in members.values {
            if let image = member.image { unsafe image.looked(room, in: window) } else { someWent = true }
        }
        if someWent { members = members.filter { $0.value.image != nil } }
    }
}
