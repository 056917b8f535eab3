/// Work that can be told to stop.
///
/// `cancel()` may be called from any thread, with no lock held, any number of times; later calls do nothing. It does not
/// wait for the work to stop.
public protocol Cancelling: Sendable {
    func cancel()
}
