import Inflight
import InflightTestSupport

/// A server of rows on loopback: `/row/N` is the picture of row N, each answer after a while of its own.
@MainActor
final class RowServer {
    private let server: LoopbackServer
    private var order = AnswerOrder()

    /// - Parameters:
    ///   - slowest: the longest wait before an answer, in milliseconds; the shortest is none.
    ///   - isFailing: whether 1 answer in 40 is a failure: one that a client tries again by itself, or one that it does not.
    init(slowest: Int, isFailing: Bool = false) throws {
        server = try LoopbackServer()
        let random = Guarded(SeededGenerator(seed: 7))
        let pictures = Guarded<[Int: Bytes]>([:])
        server.serveOthers { request in
            guard let row = request.path.split(separator: "/").last.flatMap({ Int($0) }) else { return .status(404) }
            let dice = random.withLock { random in
                (wait: Int.random(in: 0...slowest, using: &random), fails: Int.random(in: 0..<80, using: &random))
            }
            let answer: LoopbackServer.Response =
                switch dice.fails {
                case 0 where isFailing: .status(503)
                case 1 where isFailing: .status(404)
                default: .ok(Self.picture(row, pictures), type: "image/png")
                }
            let fresh = answer.field("Cache-Control", "no-store")
            return dice.wait == 0 ? fresh : fresh.delayed(.milliseconds(dice.wait))
        }
    }

    /// Each is made once.
    private nonisolated static func picture(_ row: Int, _ made: Guarded<[Int: Bytes]>) -> Bytes {
        if let there = made.withLock({ $0[row] }) { return there }
        let picture = RowPictures.png(row)
        made.withLock { $0[row] = picture }
        return picture
    }

    func url(_ path: String) -> String { server.url(path) }
    var requestCount: Int { server.requestCount }

    /// In which order answers went out so far. What it is made of is forgotten: call this now and then.
    func answerOrder() -> AnswerOrder {
        order.add(server.takeEvents())
        return order
    }

    func stop() { server.stop() }
}

/// How many answers went out later than one that was asked for after them.
struct AnswerOrder {
    private(set) var answered = 0
    private(set) var overtaken = 0
    private var asked = 0
    /// The place in the order of asking of what a connection is answering.
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

    /// How many were asked for and are not answered yet.
    var underWay: Int { places.count }
}
