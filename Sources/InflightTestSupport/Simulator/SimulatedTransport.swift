internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// A transport whose exchanges make their next step when the simulator says so.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedTransport: Transport, @unchecked Sendable {
    private unowned let world: World
    private var live: [SimulatedExchange] = []

    init(_ world: World) {
        self.world = world
    }

    let schemes: Set<String> = ["http"]

    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        let exchange = SimulatedExchange(world, request, receiver)
        live.append(exchange)
        world.note(7, UInt64(exchange.serial), "exchange \(exchange.serial) starts: \(exchange.fate), \(request.url)")
        world.model.exchangeStarts(
            exchange.serial, kind: exchange.kind, resource: exchange.resource, language: exchange.language,
            origin: exchange.origin, isRedirected: Resources.isRedirected(request), priority: request.priority)
        world.poke()
        world.interleave(in: 4)
        return exchange
    }

    /// Called where the pipeline owns this transport.
    func shutdown() async {
        world.note(31, 0, "the transport is shut down")
    }

    var isReady: Bool { live.contains { $0.isReady } }

    /// Moves one exchange, if there is one that can move.
    func runOne() {
        let start = world.draws.below(live.count)
        for offset in live.indices {
            let exchange = live[(start + offset) % live.count]
            guard exchange.isReady else { continue }
            let before = world.place
            world.place = .init()
            if exchange.isAtEnd { end(exchange) } else { exchange.move() }
            world.place = before
            return
        }
    }

    /// Ends an exchange, and others with it now and then: what a transport finds out together it tells together.
    private func end(_ first: SimulatedExchange) {
        var ending = [first]
        if !world.setup.bounds.isOrderKnown, world.draws.once(in: 3) {
            ending += live.filter { $0 !== first && $0.isReady && $0.isAtEnd }
        }
        // Taken out before their receivers hear of it: that is when their places are free.
        live.removeAll { exchange in ending.contains { $0 === exchange } }
        if ending.count == 1, world.draws.once(in: 2) {
            let end = first.end()
            end.receiver.didEnd(end.result)
        } else {
            TransportEnding.tell(ending.map { $0.end() })
        }
    }

    /// What would hang for ever is given up.
    func endHanging() {
        for exchange in live where exchange.fate == .hang { exchange.fate = .failEarly }
    }

    func removeAll() { live = [] }
}

// Unchecked: everything in a simulation happens on one thread.
final class SimulatedExchange: Transfer, @unchecked Sendable {
    enum Fate: CaseIterable {
        case whole, failEarly, failLate, status, redirect, damaged, huge, hang
    }

    let serial: Int
    let kind: Wish.Kind
    let resource: UInt8
    let language: UInt8
    let origin: UInt8
    fileprivate(set) var fate: Fate
    private unowned let world: World
    private let receiver: any TransportReceiver
    private let body: [UInt8]
    private let chunk: Int
    private let isVaried: Bool
    private var hasHead = false
    private var sent = 0
    private var isCancelled = false
    /// The receiver wants no more.
    private var isRefused = false
    private var isMoving = false

    init(_ world: World, _ request: TransportRequest, _ receiver: any TransportReceiver) {
        self.world = world
        self.receiver = receiver
        serial = world.answersVary.count
        let setup = world.setup
        (resource, origin) = Resources.resource(of: request)
        // Pictures and bytes are asked for with an `Accept` of the engine's.
        let hasAccept = request.fields.isEmpty ? false : request.fields.contains("accept")
        kind = resource == Resources.header ? .header : hasAccept ? .picture : .answer
        language = setup.hasHarmless && request.fields["accept-language"] == "2" ? 2 : 1
        switch world.draws.below(40) {
        case 0..<24: fate = .whole
        case 24, 25: fate = .failEarly
        case 26..<29: fate = .failLate
        case 29..<32: fate = .status
        case 32..<37: fate = .redirect
        case 37: fate = .damaged
        case 38: fate = setup.hasHuge ? .huge : .whole
        default: fate = .hang
        }
        isVaried = setup.hasHarmless && fate != .status && fate != .redirect && world.draws.once(in: 2)
        world.answersVary.append(isVaried)
        let content = Content(resource: resource, language: isVaried ? language : 0, exchange: serial)
        let flags = fate == .damaged ? SimulatedBody.damaged : fate == .huge ? SimulatedBody.huge : 0
        body = SimulatedBody(content: content, flags: flags).bytes
        chunk = [4, 8, 11, 16][world.draws.below(4)]
    }

    func cancel() {
        world.note(8, UInt64(serial), "exchange \(serial) is cancelled")
        world.model.exchangeIsCancelled(serial)
        isCancelled = true
        world.poke()
        world.interleave(in: 4)
    }

    func resume() {}

    var isReady: Bool { !isMoving && (fate != .hang || isCancelled || isRefused) }

    /// Whether its next step is its last.
    var isAtEnd: Bool {
        if isCancelled || isRefused { return true }
        switch fate {
        case .failEarly: return true
        case .redirect: return hasHead
        case .failLate: return hasHead && sent > 0
        default: return hasHead && sent == body.count
        }
    }

    func move() {
        isMoving = true
        if hasHead { sendBytes() } else { sendHead() }
        isMoving = false
    }

    private func sendHead() {
        if world.draws.once(in: 8) { receiver.didReceive(interim: Resources.interim) }
        hasHead = true
        world.note(9, UInt64(serial), "exchange \(serial) has its head")
        var head = isVaried ? Resources.varying : Resources.plain
        if world.setup.isMultiplexed, origin == 0 {
            head.version = .http2
            world.model.multiplexes(origin: origin)
        }
        if fate == .status { head.status = 404 }
        if fate == .redirect {
            head.status = 302
            head.fields = Resources.redirects[Int(resource)]
        }
        if isVaried { world.model.answerVaries(serial) }
        var expected: Int64? = fate == .redirect ? 0 : world.draws.once(in: 4) ? nil : Int64(body.count)
        // A body that nobody wants, and that is too long to be let pass.
        if fate == .status, world.draws.once(in: 3) { expected = 1 << 20 }
        if receiver.didReceive(head, expectedBytes: expected) == .cancel { isRefused = true }
    }

    private func sendBytes() {
        let end = min(body.count, sent + chunk)
        world.note(10, UInt64(serial), "exchange \(serial) has \(end) bytes")
        if fate != .status || kind == .answer { world.model.bytesCome(serial, received: Int64(end)) }
        let offset = sent
        sent = end
        let disposition = unsafe body.withUnsafeBytes { bytes in
            unsafe receiver.didReceive(UnsafeRawBufferPointer(rebasing: bytes[offset..<end]), at: Int64(offset))
        }
        if disposition == .cancel { isRefused = true }
    }

    fileprivate func end() -> TransportEnding {
        world.note(11, UInt64(serial), "exchange \(serial) ends")
        let isFailure = isCancelled || isRefused || fate == .failEarly || fate == .failLate
        let code: LoadError.Code =
            isCancelled || isRefused ? .cancelled : fate == .failEarly ? .cannotConnect : .truncated
        // A redirect's connection may be lost behind its head, and it is followed all the same.
        let meaning: ContractModel.ExchangeEnd =
            if isCancelled {
                .stopped
            } else if fate == .redirect, hasHead {
                .redirect(origin: Resources.redirectOrigin(of: resource))
            } else if fate == .status, hasHead, kind != .answer {
                .failure(.badStatus)
            } else if kind == .header, isRefused {
                .content
            } else if isFailure {
                .failure(code)
            } else {
                .content
            }
        world.model.exchangeEnds(serial, meaning)
        if isFailure {
            let error = LoadError(code, stage: .fetch, message: "The simulator wants it so.")
            return TransportEnding(receiver: receiver, result: .failure(error))
        }
        let summary = TransportSummary(wireBytes: Int64(sent), bodyBytes: Int64(sent))
        return TransportEnding(receiver: receiver, result: .success(summary))
    }
}
