import InflightCore
import InflightTestSupport

/// A prefetcher and the operations on it.
final class StressPrefetcher: Sendable {
    private let prefetcher: Prefetcher
    private let itemServer: ItemServer

    init(_ generation: Generation, _ turn: Prefetcher.Turn, keepsBytes: Bool) {
        itemServer = generation.itemServer
        prefetcher = Prefetcher(
            pipeline: generation.pipeline, destination: keepsBytes ? .bytes(limit: 400) : .memory, turn: turn, limit: 3)
    }

    func use(_ random: inout SeededGenerator, _ log: ViolationLog) {
        let specs = (0...random.below(4)).map { _ in RequestSpec.withoutFallback(using: &random) }
        let requests = specs.map { $0.request(itemServer) }
        switch random.below(10) {
        case 0..<4: prefetcher.start(requests)
        case 4, 5: prefetcher.stop(requests)
        case 6: prefetcher.stopAll()
        case 7: if random.below(2) == 0 { prefetcher.pause() } else { prefetcher.resume() }
        default:
            for (spec, request) in zip(specs, requests) {
                guard let response = prefetcher.takeResponse(for: request) else { continue }
                if let complaint = spec.complaint(about: response.body) {
                    log.violation(8, "a prefetcher returned " + complaint)
                }
            }
        }
        if prefetcher.statistics.inFlight > 3 { log.violation(11, "a prefetcher has more loads than its limit") }
        if prefetcher.statistics.keptBytes > 400 { log.violation(11, "a prefetcher keeps more than its limit") }
    }
}
