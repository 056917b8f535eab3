internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

// The extensions of a program: hooks, sources, and the token that the calls of `willSend` share. The seed decides the
// duration and the failure of each call, whether it calls back, and whether it ignores its cancellation.

/// A point at which a call of the program's own code is suspended until the simulator resumes it.
// Unchecked: everything in a simulation happens on one thread.
final class Pause: @unchecked Sendable {
    private let bridge = Bridge()
    private unowned let world: World

    init(_ world: World) {
        self.world = world
    }

    func end() {
        world.pauses.removeAll { $0 === self }
        bridge.open()
    }

    fileprivate func wait() async { await bridge.wait() }
}

struct SimulatedFailure: Error {}

extension World {
    /// Suspends the call up to twice. A cancelled call that honours its cancellation resumes at once and throws.
    private func suspendRandomly() async throws {
        let honoursCancellation = !draws.once(in: 3)
        let times = draws.below(3)
        let pauses = (0..<times).map { _ in Pause(self) }
        try await withTaskCancellationHandler {
            for pause in pauses where !(honoursCancellation && Task.isCancelled) {
                self.pauses.append(pause)
                await pause.wait()
                poke()
                interleave(in: 4)
            }
            if honoursCancellation, Task.isCancelled { throw CancellationError() }
        } onCancel: {
            if honoursCancellation { for pause in pauses { pause.end() } }
        }
    }

    /// Throws once in `count` calls, on average.
    private func mayFail(in count: Int) throws {
        guard draws.once(in: count) else { return }
        fault(\.hooks)
        switch draws.below(3) {
        case 0: throw LoadError(.cannotRead, stage: .fetch, message: "Simulated failure.")
        case 1: throw CancellationError()
        default: throw SimulatedFailure()
        }
    }

    private func code(_ error: any Error) -> LoadError.Code {
        if let error = error as? LoadError { return error.code }
        return error is CancellationError ? .cancelled : .extensionFailed
    }

    // MARK: willSend

    func willSend(_ request: inout ImagePipeline.OutgoingRequest) async throws {
        let sent = Resources.Sent(request.url, method: request.method, fields: request.fields, setup: setup)
        var isAgain = false
        if case .unauthorized(let head, let fields) = request.reason {
            isAgain = true
            if head.status != 401 || fields["X-For"] != request.url.string { model.wasSentUnchanged(-1) }
            if let stale = fields["X-Token"].flatMap({ Int($0) }) {
                note(32, UInt64(stale), "token \(stale) was rejected")
                model.tokenIsRefused(stale)
                token.forget(stale)
            }
        }
        let call = model.callsWillSend(
            ContractModel.WillSendArguments(
                kind: sent.kind, resource: sent.resource, language: sent.language, origin: sent.origin,
                isRedirected: sent.isRedirected, hasCredentials: sent.hasCredentials, isAgain: isAgain),
            isCancelled: Task.isCancelled, askedAt: executor.enqueuedAt, isOutermost: depth == 0)
        note(33, UInt64(call), "willSend is called for \(request.url)\(isAgain ? " again" : ""), call \(call)")
        do {
            let token = try await withTaskCancellationHandler {
                callBack()
                try await suspendRandomly()
                try mayFail(in: 16)
                return try await self.token.value()
            } onCancel: {
                model.callIsCancelled(call)
            }
            request.fields.set("X-Token", "\(token)")
            request.fields.append("X-For", request.url.string)
        } catch {
            note(34, UInt64(call), "call \(call) of willSend throws \(code(error))")
            model.willSendEnds(call, code(error))
            throw error
        }
        note(35, UInt64(call), "call \(call) of willSend returns")
        model.willSendEnds(call, nil)
        context.returning = call
    }

    func makeToken() async throws -> Int {
        let creation = model.tokenCreationBegins(isCancelled: Task.isCancelled)
        note(36, UInt64(creation), "token \(creation): fetch begins\(Task.isCancelled ? ", already cancelled" : "")")
        do {
            try await withTaskCancellationHandler {
                try await suspendRandomly()
                try mayFail(in: 8)
            } onCancel: {
                note(44, UInt64(creation), "token \(creation): fetch is cancelled")
                model.tokenCreationIsCancelled(creation)
            }
        } catch {
            model.tokenCreationEnds(creation, isGood: false)
            throw error
        }
        model.tokenCreationEnds(creation, isGood: true)
        return creation
    }

    /// Makes arbitrary calls, as the caller's code may.
    private func callBack() {
        poke()
        if !context.isAtomic, draws.once(in: 8) { act() }
        interleave(in: 4)
    }

    // MARK: didReceive

    func didReceive(_ received: ImagePipeline.ReceivedHead) async throws -> ImagePipeline.HeadDecision {
        guard let serial = received.head.fields["X-Serial"].flatMap({ Int($0) }),
            let exchange = undecided[serial]
        else {
            preconditionFailure("A simulated response has no valid X-Serial field.")
        }
        note(37, UInt64(serial), "didReceive is called for exchange \(serial)")
        do {
            try await withTaskCancellationHandler {
                callBack()
                try await suspendRandomly()
                try mayFail(in: 16)
            } onCancel: {
                model.didReceiveIsCancelled(exchange: serial)
            }
        } catch {
            note(38, UInt64(serial), "didReceive throws for exchange \(serial)")
            undecided[serial] = nil
            if error is CancellationError, model.isOutOfTime(exchange: serial) {
                exchange.decided()
            } else {
                exchange.judge(.failure(code(error)))
            }
            throw error
        }
        undecided[serial] = nil
        let decision = decide(on: exchange, received.head)
        note(39, UInt64(serial), "didReceive returns \(decision) for exchange \(serial)")
        return decision
    }

    private func decide(on exchange: SimulatedExchange, _ head: ResponseHead) -> ImagePipeline.HeadDecision {
        switch draws.below(12) {
        case 0:
            fault(\.hooks)
            exchange.judge(.failure(.refused))
            return .refuse("Simulated failure.")
        case 1, 2:
            exchange.judge(.content(status: head.status))
            return .accept
        case 3:
            var other = head
            other.status = 200
            exchange.judge(.content(status: 200))
            return .rewrite(other)
        case 4:
            var other = head
            other.status = 410
            exchange.judge(exchange.verdict(onStatus: 410))
            return .rewrite(other)
        default:
            exchange.judge(exchange.verdict(onStatus: head.status))
            return .byStatus
        }
    }

    // MARK: Sources

    func source(_ resource: UInt8) -> ImageRequest.Source {
        ImageRequest.Source("\(resource)") { [unowned self] in try await load(resource) }
    }

    private func load(_ resource: UInt8) async throws -> ImageRequest.Source.Output {
        let call = model.sourceBegins(resource, isCancelled: Task.isCancelled, isOutermost: depth == 0)
        note(40, UInt64(call), "source \(resource) is called, call \(call)")
        do {
            try await withTaskCancellationHandler {
                callBack()
                try await suspendRandomly()
                try mayFail(in: 6)
            } onCancel: {
                model.callIsCancelled(call)
            }
        } catch {
            note(41, UInt64(call), "source \(resource) throws, call \(call)")
            model.sourceEnds(call, exchange: -1, code(error))
            throw error
        }
        let serial = responsesVary.count
        responsesVary.append(false)
        let content = Content(resource: resource, language: 0, exchange: serial)
        note(42, UInt64(call), "source \(resource) returns content \(serial), call \(call)")
        model.sourceEnds(call, exchange: serial, nil)
        if resource == Resources.imageSource { return .image(content.pixels) }
        let flags = draws.once(in: 12) ? SimulatedBody.damaged : 0
        return .bytes(Bytes(SimulatedBody(content: content, flags: flags).bytes))
    }

    // MARK: The log

    func log(_ entry: ImagePipeline.LogEntry) {
        switch entry.message {
        case "exchange started":
            model.logsExchange()
            poke()
            // Without a call of `willSend` that has just returned, the job of the exchange is visible only once it has
            // started.
            if context.returning >= 0 { interleave(in: 3) }
        case "loading a fallback":
            let task = model.requestsFallback(for: Resources.fallback(entry["url"], of: model))
            note(43, UInt64(max(0, task)), "task \(task) loads a fallback: \(entry["url"] ?? "")")
            interleave(in: 2)
            if task >= 0 { model.subscribes(task) }
        case "job succeeded":
            poke()
            if entry["job"] == "decode", entry["url"] == "source:\(Resources.imageSource)" {
                model.imageIsConverted(Resources.imageSource)
            }
        case "job failed", "redirected", "retrying with new credentials": poke()
        default:
            // The model has no view between a lookup and its outcome.
            if setup.hasStore { poke() } else { callBack() }
        }
    }
}
