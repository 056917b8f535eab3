import Inflight
import InflightConcurrency
import InflightTestSupport

/// A loopback server of rows. `/row/N` is the image of row N, and each response has its own random delay.
@MainActor
final class RowServer {
    private let server: LoopbackServer
    private var order = ResponseOrder()

    /// - Parameters:
    ///   - slowest: the longest delay of a response, in milliseconds. The shortest is 0.
    ///   - isFailing: whether 1 response in 40 is an error, one that clients retry (503) or one that they do not.
    init(slowest: Int, isFailing: Bool = false) throws {
        server = try LoopbackServer()
        let random = Guarded(SeededGenerator(seed: 7))
        let images = Guarded<[Int: Bytes]>([:])
        server.serveOthers { request in
            guard let row = request.path.split(separator: "/").last.flatMap({ Int($0) }) else { return .status(404) }
            let dice = random.withLock { random in
                (wait: Int.random(in: 0...slowest, using: &random), fails: Int.random(in: 0..<80, using: &random))
            }
            let answer: LoopbackServer.Response =
                switch dice.fails {
                case 0 where isFailing: .status(503)
                case 1 where isFailing: .status(404)
                default: .ok(Self.image(row, images), type: "image/png")
                }
            let fresh = answer.field("Cache-Control", "no-store")
            return dice.wait == 0 ? fresh : fresh.delayed(.milliseconds(dice.wait))
        }
    }

    /// Returns the image of a row, which is encoded once.
    private nonisolated static func image(_ row: Int, _ made: Guarded<[Int: Bytes]>) -> Bytes {
        if let there = made.withLock({ $0[row] }) { return there }
        let image = RowImages.png(row)
        made.withLock { $0[row] = image }
        return image
    }

    func url(_ path: String) -> String { server.url(path) }
    var requestCount: Int { server.requestCount }

    /// Returns the order of the responses so far. Call it now and then, because it discards the recorded events.
    func answerOrder() -> ResponseOrder {
        order.add(server.takeEvents())
        return order
    }

    func stop() { server.stop() }
}

/// The number of responses, and of those that were sent later than the response to a later request.
struct ResponseOrder {
    private(set) var answered = 0
    private(set) var overtaken = 0
    private var asked = 0
    /// The position, in the order of requests, of the request that each connection is serving.
    private var places: [Int: Int] = [:]
    private var latest = 0

    mutating func add(_ events: [LoopbackServer.Event]) {
        for event in events {
            switch event.kind {
            case .requestReceived:
                asked += 1
                places[event.connection] = asked
            case .answered:
                guard let place = places.removeValue(forKey: event.connection) else { continue }
                answered += 1
                if place < latest { overtaken += 1 }
                latest = max(latest, place)
            case .closedByPeer, .closedByServer: places[event.connection] = nil
            default: break
            }
        }
    }

    /// The number of requests that have no response yet.
    var inFlight: Int { places.count }
}
