import InflightCore
import InflightTestSupport

/// A prefetcher and the operations on it.
final class ListAhead: Sendable {
    private let prefetcher: Prefetcher
    private let supply: Supply

    init(_ generation: Generation, _ turn: Prefetcher.Turn, keepsBytes: Bool) {
        supply = generation.supply
        prefetcher = Prefetcher(
            pipeline: generation.pipeline, destination: keepsBytes ? .bytes(limit: 400) : .memory, turn: turn, limit: 3)
    }

    func use(_ random: inout SeededGenerator, _ ledger: Ledger) {
        let wishes = (0...random.below(4)).map { _ in Wish.withoutFallback(using: &random) }
        let requests = wishes.map { $0.request(supply) }
        switch random.below(10) {
        case 0..<4: prefetcher.start(requests)
        case 4, 5: prefetcher.stop(requests)
        case 6: prefetcher.stopAll()
        case 7: if random.below(2) == 0 { prefetcher.pause() } else { prefetcher.resume() }
        default:
            for (wish, request) in zip(wishes, requests) {
                guard let response = prefetcher.takeResponse(for: request) else { continue }
                if let complaint = wish.complaint(about: response.body) {
                    ledger.violation(8, "a prefetcher returned " + complaint)
                }
            }
        }
        if prefetcher.statistics.inFlight > 3 { ledger.violation(11, "a prefetcher has more loads than its limit") }
        if prefetcher.statistics.keptBytes > 400 { ledger.violation(11, "a prefetcher keeps more than its limit") }
    }
}
