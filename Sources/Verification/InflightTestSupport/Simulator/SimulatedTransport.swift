internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// An exchange in flight.
protocol SteppedExchange: AnyObject {
    /// Whether the exchange can make a step.
    var isReady: Bool { get }
    /// Whether the next step is the exchange's last.
    var isAtEnd: Bool { get }
    func move()
    func end() -> TransportEnding
    /// Ends an exchange that would hang.
    func endHanging()
}

extension TransportReceiver {
    /// Delivers a piece of a body.
    func disposition(after piece: Range<Int>, of body: [UInt8]) -> TransportDisposition {
        unsafe body.withUnsafeBytes { bytes in
            unsafe didReceive(UnsafeRawBufferPointer(rebasing: bytes[piece]), at: Int64(piece.lowerBound))
        }
    }

    /// Returns the end of an exchange that delivered `sentBytes` bytes, or failed.
    func ending(_ code: LoadError.Code?, sentBytes: Int) -> TransportEnding {
        if let code {
            let error = LoadError(code, stage: .fetch, message: "Simulated failure.")
            return TransportEnding(receiver: self, result: .failure(error))
        }
        let summary = TransportSummary(wireBytes: Int64(sentBytes), bodyBytes: Int64(sentBytes))
        return TransportEnding(receiver: self, result: .success(summary))
    }
}

/// A transport whose exchanges make their next step when the simulator decides.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedTransport: Transport, @unchecked Sendable {
    private unowned let world: World
    private var live: [any SteppedExchange] = []

    init(_ world: World) {
        self.world = world
    }

    let schemes: Set<String> = ["http"]

    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        if world.setup.hasStore {
            let exchange = ServedExchange(world, request, receiver)
            live.append(exchange)
            world.poke()
            return exchange
        }
        let exchange = SimulatedExchange(world, request, receiver)
        live.append(exchange)
        world.note(7, UInt64(exchange.serial), "exchange \(exchange.serial) starts: \(exchange.fate), \(request.url)")
        let sent = exchange.sent
        world.model.exchangeStarts(
            exchange.serial, kind: sent.kind, resource: sent.resource, language: sent.language, origin: sent.origin,
            isRedirected: sent.isRedirected, hasCredentials: sent.hasCredentials, priority: request.priority,
            receiver: ObjectIdentifier(receiver), after: world.context.returning)
        world.context.returning = -1
        if world.setup.hasWillSend, request.fields.values("X-For") != [request.url.string] {
            world.model.wasSentUnchanged(exchange.serial)
        }
        if exchange.fate != .whole { world.fault(\.transport) }
        world.poke()
        world.interleave(in: 4)
        return exchange
    }

    /// Called if the pipeline owns this transport.
    func shutdown() async {
        world.note(31, 0, "the transport is shut down")
    }

    var isReady: Bool { live.contains { $0.isReady } }

    /// Advances one exchange, if any is ready.
    func runOne() {
        let start = world.draws.below(live.count)
        for offset in live.indices {
            let exchange = live[(start + offset) % live.count]
            guard exchange.isReady else { continue }
            let before = world.context
            world.context = .init()
            if exchange.isAtEnd { end(exchange) } else { exchange.move() }
            world.context = before
            return
        }
    }

    /// Ends an exchange, and sometimes others with it. A transport delivers ends that it detects at once as a batch.
    private func end(_ first: any SteppedExchange) {
        var ending = [first]
        if !world.setup.bounds.isOrderKnown, !world.setup.hasStore, !endsTasksAlone(first), world.draws.once(in: 3) {
            ending += live.filter { $0 !== first && $0.isReady && $0.isAtEnd && !endsTasksAlone($0) }
        }
        // Remove them before delivery, because delivery frees their slots.
        live.removeAll { exchange in ending.contains { $0 === exchange } }
        if ending.count == 1, world.draws.once(in: 2) {
            let end = first.end()
            end.receiver.didEnd(end.result)
        } else {
            TransportEnding.deliver(ending.map { $0.end() })
        }
    }

    /// Whether the end may refuse some tasks of its job, those that allow no redirect. They fail at once, before the
    /// other exchanges of a batch have ended in the engine, but the model ends all of them together.
    private func endsTasksAlone(_ exchange: any SteppedExchange) -> Bool {
        guard let exchange = exchange as? SimulatedExchange, exchange.fate == .redirect else { return false }
        return exchange.sent.resource == Resources.limited
    }

    /// Ends exchanges that would hang.
    func endHanging() {
        for exchange in live { exchange.endHanging() }
    }

    func removeAll() { live = [] }
}

// Unchecked: everything in a simulation happens on one thread.
final class SimulatedExchange: Transfer, SteppedExchange, @unchecked Sendable {
    enum Fate: CaseIterable {
        case whole, failEarly, failLate, status, unauthorized, redirect, damaged, huge, hang
    }

    /// The meaning of a response, decided by its status or by `didReceive`.
    enum Verdict {
        case content(status: Int)
        case failure(LoadError.Code)
    }

    let serial: Int
    let sent: Resources.Sent
    private(set) var fate: Fate
    private unowned let world: World
    private let receiver: any TransportReceiver
    private let body: [UInt8]
    private let chunk: Int
    private let isVaried: Bool
    /// The token that `willSend` has set.
    private let token: String?
    private var hasHead = false
    private var sentBytes = 0
    private var isCancelled = false
    /// Whether the receiver has cancelled the rest of the transfer.
    private var isRefused = false
    private var isMoving = false
    /// Whether the receiver has paused the exchange.
    private var isPaused = false
    /// Whether the exchange was resumed, possibly before it was paused.
    private var isResumed = false
    /// Whether the exchange has ended before `didReceive` has returned.
    private var isHeld = false
    /// Whether `willSend` is to be called again.
    private var isRefusedProof = false
    private var verdict: Verdict?

    init(_ world: World, _ request: TransportRequest, _ receiver: any TransportReceiver) {
        self.world = world
        self.receiver = receiver
        serial = world.responsesVary.count
        let setup = world.setup
        sent = Resources.Sent(request.url, method: request.method, fields: request.fields, setup: setup)
        let draw = world.draws.below(40)
        switch draw {
        case 0..<14 where setup.bounds.failuresToOpen > 0: fate = .failEarly
        case 0..<24: fate = .whole
        case 24, 25: fate = .failEarly
        case 26..<29: fate = .failLate
        case 29, 30: fate = .status
        case 31: fate = .unauthorized
        case 32..<37: fate = .redirect
        case 37: fate = .damaged
        case 38: fate = setup.hasHuge ? .huge : .whole
        default: fate = .hang
        }
        isVaried = setup.hasExcludedFields && !fate.isStatus && world.draws.once(in: 2)
        world.responsesVary.append(isVaried)
        token = request.fields["X-Token"]
        let content = Content(resource: sent.resource, language: isVaried ? sent.language : 0, exchange: serial)
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

    func resume() {
        isPaused = false
        isResumed = true
    }

    func setPriority(_ priority: ImageRequest.Priority) {
        world.note(83, UInt64(serial), "exchange \(serial) gets priority \(priority)")
        world.model.exchangeIsPrioritized(serial, to: priority)
    }

    func endHanging() {
        if fate == .hang { fate = .failEarly }
    }

    var isReady: Bool { !isMoving && (isCancelled || isRefused || (isPaused ? fate == .failLate : fate != .hang)) }

    /// Whether the next step is the exchange's last.
    var isAtEnd: Bool {
        if isCancelled || isRefused { return true }
        switch fate {
        case .failEarly: return true
        case .redirect: return hasHead
        case .failLate: return hasHead && (sentBytes > 0 || isPaused)
        default: return hasHead && sentBytes == body.count
        }
    }

    func move() {
        isMoving = true
        if hasHead { sendBytes() } else { sendHead() }
        isMoving = false
    }

    private func sendHead() {
        world.model.responseBegins(serial)
        if world.draws.once(in: 8) { receiver.didReceive(interim: Resources.interim) }
        hasHead = true
        refuseToken()
        world.note(9, UInt64(serial), "exchange \(serial) delivers its head")
        var head = isVaried ? Resources.varying : Resources.plain
        if world.setup.isMultiplexed, sent.origin == 0 {
            head.version = .http2
            world.model.multiplexes(origin: sent.origin)
        }
        if fate == .status { head.status = 404 }
        if fate == .unauthorized { head.status = 401 }
        if fate == .redirect {
            head.status = 302
            head.fields = Resources.redirects[Int(sent.resource)]
        }
        var expected: Int64? = fate == .redirect ? 0 : world.draws.once(in: 4) ? nil : Int64(body.count)
        // A body that the receiver does not need, and that is too long to drain.
        if fate == .status || fate == .unauthorized, world.draws.once(in: 3) { expected = 1 << 20 }
        isRefusedProof = fate == .unauthorized && world.model.callsWillSendAgain(exchange: serial)
        // Images in memory that this response invalidates must not serve the tasks for which it varies.
        world.model.responseBegins(serial, status: head.status)
        let isToBeJudged = world.setup.hasDidReceive && fate != .redirect && !isRefusedProof
        if isToBeJudged {
            head.fields.append("X-Serial", "\(serial)")
            world.undecided[serial] = self
        } else if fate != .redirect, !isRefusedProof {
            judge(verdict(onStatus: head.status))
        }
        let disposition = receiver.didReceive(head, expectedBytes: expected)
        if disposition == .cancel { isRefused = true }
        // A job that was cancelled meanwhile ends without a decision of `didReceive`.
        if isToBeJudged, disposition == .pause { isPaused = true }
        world.model.headWasReceived(exchange: serial, waits: disposition == .pause, isToWait: isToBeJudged)
    }

    /// A server that has refused a token refuses it in other requests too, also if a newer one has been made meanwhile.
    private func refuseToken() {
        guard let token else { return }
        if fate == .whole, !isVaried, world.refusedTokens.contains(token), world.draws.once(in: 2) {
            fate = .unauthorized
        }
        if fate == .unauthorized { world.refusedTokens.insert(token) }
    }

    // MARK: Verdict

    func verdict(onStatus status: Int) -> Verdict {
        status == 200 || sent.kind == .response ? .content(status: status) : .failure(.badStatus)
    }

    /// Reports the meaning of the response to the model, before the receiver acts on it.
    func judge(_ verdict: Verdict) {
        self.verdict = verdict
        if case .content(let status) = verdict {
            if status != 200 || world.setup.hasDidReceive { world.statuses[serial] = status }
            if isVaried { world.model.responseVaries(serial) }
            world.model.statusIsRewritten(serial, as: status)
        }
        decided()
    }

    /// `didReceive` has decided, or was cancelled.
    func decided() {
        if isHeld { world.model.exchangeEnds(serial, meaning) }
    }

    private var isFailure: Bool { isCancelled || isRefused || fate == .failEarly || fate == .failLate }

    private var errorCode: LoadError.Code {
        isCancelled || isRefused ? .cancelled : fate == .failEarly ? .cannotConnect : .truncated
    }

    private var meaning: ContractModel.ExchangeEnd {
        if isCancelled, !world.model.isOutOfTime(exchange: serial) { return .stopped }
        if hasHead {
            // The connection may break after the head. The engine still follows a redirect or a 401.
            if fate == .redirect { return .redirect(origin: Resources.redirectOrigin(of: sent.resource)) }
            if isRefusedProof { return .again }
            if case .failure(let code) = verdict { return .failure(code) }
            if sent.kind == .header, isRefused { return .content }
        }
        return isCancelled ? .stopped : isFailure ? .failure(errorCode) : .content
    }

    // MARK: Body

    private func sendBytes() {
        let end = min(body.count, sentBytes + chunk)
        world.note(10, UInt64(serial), "exchange \(serial) delivers bytes up to \(end)")
        if case .content = verdict { world.model.bytesArrive(serial, received: Int64(end)) }
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
        if world.undecided[serial] != nil { isHeld = true } else { world.model.exchangeEnds(serial, meaning) }
        return receiver.ending(isFailure ? errorCode : nil, sentBytes: sentBytes)
    }
}

extension SimulatedExchange.Fate {
    /// Whether the response has a status without content.
    fileprivate var isStatus: Bool { self == .status || self == .unauthorized || self == .redirect }
}
