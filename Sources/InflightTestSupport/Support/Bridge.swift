internal import CInflightConcurrency

/// Tells the thread sanitizer that what was done before a continuation was resumed came before what follows it.
// Unchecked: it has no state, only an address.
final class Bridge: @unchecked Sendable {
    func handOver() { unsafe inflight_tsan_release(Unmanaged.passUnretained(self).toOpaque()) }
    func takeOver() { unsafe inflight_tsan_acquire(Unmanaged.passUnretained(self).toOpaque()) }
}
