import CInflightGTK
import Dispatch
import InflightConcurrency
import InflightGTK

@MainActor
func bridgeParts(_ harness: Harness) {
    harness.part("the main queue runs its blocks in order while GLib's loop runs") { harness in
        let order = Guarded<[Int]>([])
        let bridge = Bridge()
        DispatchQueue.global().async {
            for number in 0..<10_000 { DispatchQueue.main.async { order.withLock { $0.append(number) } } }
            DispatchQueue.main.async { bridge.open() }
        }
        await bridge.wait()
        harness.expect(order.withLock { $0 } == Array(0..<10_000), "blocks ran in another order or not at all")
    }
    harness.part("main-actor tasks run under GLib's loop, and GLib's callbacks run on the main actor") { harness in
        let bridge = Bridge()
        unsafe g_idle_add_full(
            200,
            { data in
                MainActor.assumeIsolated {}
                DispatchQueue.global().async {
                    [bridge = unsafe Unmanaged<Bridge>.fromOpaque(data!).takeUnretainedValue()] in
                    Task { @MainActor in bridge.open() }
                }
                return gboolean(0)
            }, Unmanaged.passRetained(bridge).toOpaque(), { unsafe Unmanaged<Bridge>.fromOpaque($0!).release() })
        await bridge.wait()
    }
    harness.part("an idle loop is not woken") { harness in
        // One long wait, and the number of iterations of the loop during it.
        let bridge = Bridge()
        Polls.begin()
        unsafe g_timeout_add_full(
            0, 300,
            { data in
                unsafe Unmanaged<Bridge>.fromOpaque(data!).takeUnretainedValue().open()
                return gboolean(0)
            }, Unmanaged.passRetained(bridge).toOpaque(), { unsafe Unmanaged<Bridge>.fromOpaque($0!).release() })
        await bridge.wait()
        let count = Polls.end()
        harness.expect(count <= 6, "the loop polled \(count) times while it was idle")
    }
}

/// Counts how often the default context polls.
@MainActor
private enum Polls {
    // Only used on the main thread, but also by a C function, which cannot be isolated.
    nonisolated(unsafe) private static var count = 0
    // Used only on the main thread, like `count`.
    nonisolated(unsafe) private static var before: GPollFunc?

    static func begin() {
        unsafe count = 0
        unsafe before = g_main_context_get_poll_func(nil)
        unsafe g_main_context_set_poll_func(nil) { descriptors, number, timeout in
            unsafe Polls.count += 1
            return unsafe Polls.before!(descriptors, number, timeout)
        }
    }

    static func end() -> Int {
        unsafe g_main_context_set_poll_func(nil, before)
        return unsafe count
    }
}
