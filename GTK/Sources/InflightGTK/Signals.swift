package import CInflightGTK

/// A box for a closure that C holds by a pointer and releases by a separate call.
private final class Handler<Body> {
    let body: Body
    init(_ body: Body) {
        self.body = body
    }
}

private typealias SignalHandler = Handler<@MainActor () -> Void>
private typealias TimeHandler = Handler<@MainActor () -> Bool>
private typealias FrameHandler = Handler<@MainActor (Int64) -> Bool>

/// Calls `body` before each frame that a widget draws, until it returns `false`.
///
/// - Parameter body: receives the frame's time, in microseconds of the frame clock.
@MainActor
package func onFrames(of widget: UnsafeMutablePointer<GtkWidget>, _ body: @escaping @MainActor (Int64) -> Bool) {
    let handler = unsafe Unmanaged.passRetained(FrameHandler(body)).toOpaque()
    unsafe gtk_widget_add_tick_callback(
        widget,
        { _, clock, data in
            let body = unsafe Unmanaged<FrameHandler>.fromOpaque(data!).takeUnretainedValue().body
            let time = unsafe Int64(gdk_frame_clock_get_frame_time(clock))
            return MainActor.assumeIsolated { body(time) } ? gboolean(1) : gboolean(0)
        }, handler, { unsafe Unmanaged<FrameHandler>.fromOpaque($0!).release() })
}

/// Calls `body` after the given number of milliseconds, and again at the same interval until it returns `false`.
@MainActor
package func after(
    milliseconds: Double, priority: Int32 = G_PRIORITY_DEFAULT, _ body: @escaping @MainActor () -> Bool
) {
    let handler = unsafe Unmanaged.passRetained(TimeHandler(body)).toOpaque()
    unsafe g_timeout_add_full(
        priority, guint(max(0, min(milliseconds, 3_600_000))),
        { data in
            let body = unsafe Unmanaged<TimeHandler>.fromOpaque(data!).takeUnretainedValue().body
            return MainActor.assumeIsolated { body() } ? gboolean(1) : gboolean(0)
        }, handler, { unsafe Unmanaged<TimeHandler>.fromOpaque($0!).release() })
}

/// Calls `body` at every emission of a signal, without the signal's parameters.
///
/// ```swift
/// connectSignal(button, "clicked") { image.retry() }
/// ```
///
/// - Thread: the main thread, on which GTK emits.
/// - Release: `body` is released when the object is disposed of.
///
/// - Parameters:
///   - object: the `GObject`, for example a widget or the application.
///   - signal: the name of a signal without a result, perhaps with a detail (`notify::scale-factor`).
///   - body: called in each emission.
@MainActor
public func connectSignal(_ object: UnsafeMutableRawPointer, _ signal: String, _ body: @escaping @MainActor () -> Void)
{
    let handler = unsafe Unmanaged.passRetained(SignalHandler(body)).toOpaque()
    unsafe inflight_connect(
        object, signal,
        { data in
            let body = unsafe Unmanaged<SignalHandler>.fromOpaque(data).takeUnretainedValue().body
            MainActor.assumeIsolated { body() }
        }, handler, { unsafe Unmanaged<SignalHandler>.fromOpaque($0).release() })
}

extension UnsafeMutableRawPointer {
    var object: UnsafeMutablePointer<GObject> { unsafe assumingMemoryBound(to: GObject.self) }
}
