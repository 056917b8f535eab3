internal import CInflightGTK

private final class Handler {
    let body: @MainActor () -> Void
    init(_ body: @escaping @MainActor () -> Void) {
        self.body = body
    }
}

/// Calls `body` at every emission of a signal, until its object goes. GTK emits on the main thread.
@MainActor
package func connectSignal(_ object: UnsafeMutableRawPointer, _ signal: String, _ body: @escaping @MainActor () -> Void)
{
    let handler = unsafe Unmanaged.passRetained(Handler(body)).toOpaque()
    unsafe inflight_connect(
        object, signal,
        { data in
            let body = unsafe Unmanaged<Handler>.fromOpaque(data).takeUnretainedValue().body
            MainActor.assumeIsolated { body() }
        }, handler, { unsafe Unmanaged<Handler>.fromOpaque($0).release() })
}

extension UnsafeMutableRawPointer {
    var object: UnsafeMutablePointer<GObject> { unsafe assumingMemoryBound(to: GObject.self) }
}
