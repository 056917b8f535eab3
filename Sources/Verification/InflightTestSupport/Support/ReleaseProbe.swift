/// Calls a closure when it is released, on the thread that releases it.
package final class ReleaseProbe: Sendable {
    private let released: @Sendable () -> Void

    package init(_ released: @escaping @Sendable () -> Void) {
        self.released = released
    }

    deinit {
        released()
    }

    /// Called in closures, so that they capture this object.
    package func touch() {}
}
