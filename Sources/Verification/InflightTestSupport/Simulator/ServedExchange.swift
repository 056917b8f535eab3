internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// An exchange with a server that sends cacheable responses, for worlds with a store.
// Unchecked: everything in a simulation happens on one thread.
final class ServedExchange: Transfer, SteppedExchange, @unchecked Sendable {
    private enum Fate { case whole, failEarly, failLate, status(Int), redirect, hang }

    let serial: Int
    private let received: SimulatedServer.ReceivedRequest
    private var fate: Fate
    private unowned let world: World
    private let receiver: any TransportReceiver
    private let chunks: Int
    private var response: SimulatedServer.ServedResponse?
    private var sentBytes = 0
    private var isCancelled = false
    private var isRefused = false
    private var isMoving = false
    private var isPaused = false
    private var isResumed = false

    init(_ world: World, _ request: TransportRequest, _ receiver: any TransportReceiver) {
        self.world = world
        self.receiver = receiver
        serial = world.responsesVary.count
        world.responsesVary.append(false)
        received = SimulatedServer.ReceivedRequest(request, setup: world.setup)
        switch world.draws.below(40) {
        case 0..<26: fate = .whole
        case 26, 27: fate = .failEarly
        case 28..<33: fate = .failLate
        case 33: fate = .status(404)
        case 34, 35: fate = .status([500, 503, 503, 429][world.draws.below(4)])
        case 36, 37: fate = .redirect
        case 38: fate = .hang
        default: fate = .whole
        }
        chunks = 1 + world.draws.below(2)
        let sent = received.sent
        world.note(7, UInt64(serial), "exchange \(serial) starts: \(fate), \(request.url), \(received.conditions)")
        world.model.exchangeStarts(
            serial, kind: sent.kind, resource: sent.resource, policy: received.policy(request), origin: sent.origin,
            isRedirected: sent.isRedirected, hasCredentials: sent.hasCredentials, priority: request.priority,
            conditions: received.conditions, receiver: ObjectIdentifier(receiver))
        if case .whole = fate {} else { world.fault(\.transport) }
    }

    func cancel() {
        world.note(8, UInt64(serial), "exchange \(serial) is cancelled")
        world.model.exchangeIsCancelled(serial)
        isCancelled = true
        world.poke()
    }

    func resume() {
        isPaused = false
        isResumed = true
    }

    func setPriority(_ priority: ImageRequest.Priority) {
        world.note(83, UInt64(serial), "exchange \(serial) gets priority \(priority)")
        world.model.exchangeIsPrioritized(serial, to: priority)
    }

    private var hangs: Bool { if case .hang = fate { true } else { false } }

    private var failsLate: Bool { if case .failLate = fate { true } else { false } }

    var isReady: Bool { !isMoving && (isCancelled || isRefused || (isPaused ? failsLate : !hangs)) }

    func endHanging() {
        if case .hang = fate { fate = .failEarly }
    }

    var isAtEnd: Bool {
        if isCancelled || isRefused { return true }
        switch fate {
        case .failEarly: return true
        case .redirect: return response != nil
        case .failLate: return response != nil && (sentBytes > 0 || response?.body.isEmpty ?? true)
        default: return response.map { sentBytes == $0.body.count } ?? false
        }
    }

    func move() {
        isMoving = true
        if response != nil { sendBytes() } else { sendHead() }
        isMoving = false
    }

    private func sendHead() {
        if world.draws.once(in: 8) { receiver.didReceive(interim: Resources.interim) }
        let made = makeResponse()
        response = made
        let length: Int? = world.draws.once(in: 4) ? nil : made.body.count
        var head = ResponseHead(status: made.head.status)
        head.fields = made.head.fields(start: made.start, total: made.total, length: length)
        if case .redirect = fate { head.fields = Resources.redirects[Int(received.sent.resource)] }
        if world.setup.isMultiplexed, received.sent.origin == 0 {
            head.version = .http2
            world.model.multiplexes(origin: received.sent.origin)
        }
        world.note(
            9, UInt64(serial),
            "exchange \(serial) delivers its head: \(head.status), version \(made.head.version), \(made.head.control)")
        let total = head.status == 206 || head.status == 416 ? made.total : length
        world.model.headArrives(serial, made.head, start: made.start, total: total)
        world.model.responseBegins(serial, status: head.status)
        let disposition = receiver.didReceive(head, expectedBytes: length.map { Int64($0) })
        if disposition == .cancel { isRefused = true }
        world.model.headWasReceived(exchange: serial, waits: disposition == .pause, isToWait: false)
    }

    private func makeResponse() -> SimulatedServer.ServedResponse {
        switch fate {
        case .status(let status): return world.server.failure(status, received, number: serial)
        case .redirect: return SimulatedServer.ServedResponse(head: ServerHead(status: 302, version: serial))
        default: return world.server.response(to: received, number: serial)
        }
    }

    private func sendBytes() {
        guard let body = response?.body else { return }
        // The first piece is always long enough to contain the number of its delivery.
        let end = min(body.count, sentBytes + max(SimulatedBody.count, (body.count + chunks - 1) / chunks))
        world.note(10, UInt64(serial), "exchange \(serial) delivers bytes up to \(end)")
        world.model.bodyArrives(serial, end - sentBytes)
        let piece = sentBytes..<end
        sentBytes = end
        isResumed = false
        switch receiver.disposition(after: piece, of: body) {
        case .proceed: break
        case .cancel: isRefused = true
        case .pause: isPaused = !isResumed
        }
    }

    func end() -> TransportEnding {
        world.note(11, UInt64(serial), "exchange \(serial) ends")
        var code: LoadError.Code?
        if isCancelled || isRefused {
            code = .cancelled
        } else if case .failEarly = fate {
            code = .cannotConnect
        } else if case .failLate = fate {
            code = .truncated
        }
        world.model.servedExchangeEnds(
            serial, failure: code, isRefused: isRefused && !isCancelled,
            redirectsTo: Resources.redirectOrigin(of: received.sent.resource))
        return receiver.ending(code, sentBytes: sentBytes)
    }
}

extension SimulatedServer.ReceivedRequest {
    init(_ request: TransportRequest, setup: Setup) {
        sent = Resources.Sent(request.url, method: request.method, fields: request.fields, setup: setup)
        conditions = Conditions()
        conditions.tags = request.fields.values("if-none-match").flatMap { $0.split(separator: ", ").map(String.init) }
            .sorted()
        since = request.fields["if-modified-since"]
        conditions.hasSince = since != nil
        if let range = request.fields["range"], range.hasPrefix("bytes="), range.hasSuffix("-") {
            conditions.offset = Int(range.dropFirst(6).dropLast())
        }
        ifRange = request.fields["if-range"]
        conditions.hasIfRange = ifRange != nil
    }

    /// Returns the cache policy of a request, which the simulator's callers send as a field.
    func policy(_ request: TransportRequest) -> ImageRequest.CachePolicy {
        request.fields["x-policy"].flatMap { ImageRequest.CachePolicy(rawValue: $0) } ?? .obey
    }
}
