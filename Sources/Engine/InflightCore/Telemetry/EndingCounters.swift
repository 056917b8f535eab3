import InflightConcurrency
internal import Synchronization

/// Counts the outcomes of loads when their results become known. Every pipeline has one, with or without an observer.
///
/// A success or a cancellation is one atomic addition. Failures, and sources that this library does not define, are
/// counted by name under a separate lock, which calls no other code.
struct EndingCounters: ~Copyable, Sendable {
    private struct Named {
        var failures: [LoadError.Code: Int] = [:]
        var successes: [LoadSource: Int] = [:]
    }

    private let successes = InlineArray<8, Atomic<Int>> { _ in Atomic(0) }
    private let cancelled = Atomic(0)
    private let savedBytes = Atomic<Int64>(0)
    private let named = Guarded(Named())

    /// May be called with any lock held.
    func count(_ outcome: ImagePipeline.Event.Outcome) {
        switch outcome {
        case .success(let source):
            if let place = ImagePipeline.Statistics.knownSources.firstIndex(of: source) {
                successes[place].add(1, ordering: .relaxed)
            } else {
                named.withLock { $0.successes[source, default: 0] += 1 }
            }
        case .failure(let code): named.withLock { $0.failures[code, default: 0] += 1 }
        }
    }

    func countCancel() { cancelled.add(1, ordering: .relaxed) }

    /// Counts bytes of a body that were not fetched again.
    func countSaved(_ bytes: Int64) { savedBytes.add(bytes, ordering: .relaxed) }

    /// Copies the counters. Each is correct by itself; a load that ends meanwhile may be in some and not yet in others.
    func read(into statistics: inout ImagePipeline.Statistics) {
        statistics.cancelledLoads = cancelled.load(ordering: .relaxed)
        statistics.bytesSavedBySharing = savedBytes.load(ordering: .relaxed)
        (statistics.failures, statistics.successes) = named.withLock { ($0.failures, $0.successes) }
        for (place, source) in ImagePipeline.Statistics.knownSources.enumerated() {
            let count = successes[place].load(ordering: .relaxed)
            if count > 0 { statistics.successes[source] = count }
        }
    }
}

extension JobResult {
    /// The bytes that a coalesced task has saved: the body's size, if it came from the network.
    var bytesSavedBySharing: Int64 {
        switch value {
        case .image(let image): image.source == .network ? image.bodyBytes : 0
        case .response(let response): response.source == .network ? Int64(response.byteCount) : 0
        case .info, .failure: 0
        }
    }
}
