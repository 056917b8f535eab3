/// Tells when, and so where, it is released.
final class Witness: Sendable {
    private let released: @Sendable () -> Void

    init(_ released: @escaping @Sendable () -> Void) {
        self.released = released
    }

    deinit {
        released()
    }

    /// To be captured by it.
    func touch() {}
}
