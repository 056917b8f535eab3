import InflightContract
import InflightCore
import Testing

/// The model receives the events of a broken engine and must name the violated rule.
@Suite("Contract model", .timeLimit(.minutes(10)))
struct ContractModelTests {
    private let model = ContractModel(bounds: Bounds())
    private let spec = RequestSpec(kind: .bytes, resource: 1, origin: 0)

    private func ask(_ priority: ImageRequest.Priority = .normal, queue: Int = 0) -> Int {
        let task = model.requested(spec, priority: priority, queue: queue)
        model.subscribes(task)
        return task
    }

    private func start(_ serial: Int, priority: ImageRequest.Priority = .normal, resource: UInt8 = 1) {
        model.exchangeStarts(
            serial, kind: .bytes, resource: resource, language: 1, origin: 0, priority: priority)
    }

    private final class Receiver {}

    private func onQueue(_ queue: Int) -> CallContext {
        var context = CallContext()
        context.queue = queue
        return context
    }

    private func good(_ exchange: Int, resource: UInt8 = 1) -> Ending {
        .content(Content(resource: resource, language: 0, exchange: exchange), .network)
    }

    @Test("The model accepts a load that succeeds")
    func allWell() {
        let task = ask()
        start(0)
        model.bytesArrive(0, received: 8)
        model.progressBegins(task, received: 8, at: onQueue(0))
        model.callbackReturned(task)
        model.exchangeEnds(0, .content)
        model.endingBegins(task, good(0), at: onQueue(0))
        model.callbackReturned(task)
        model.released(task, at: onQueue(0))
        model.finishes()
        #expect(model.violation == nil)
    }

    private func askUntil(_ time: Int64) -> Int {
        let task = model.requested(spec, priority: .normal, queue: 0, timeLimit: time)
        model.subscribes(task)
        return task
    }

    @Test("The model accepts a load that ends at its deadline")
    func ended() {
        let task = askUntil(5)
        model.clockAdvances(5)
        model.deadlinesPass()
        model.endingBegins(task, .failure(.deadlineExceeded), at: onQueue(0))
        model.callbackReturned(task)
        model.released(task, at: onQueue(0))
        model.finishes()
        #expect(model.violation == nil)
    }

    @Test("Contract 3: A load that ends before its deadline, because of it, is a violation")
    func endedEarly() {
        let task = askUntil(5)
        model.clockAdvances(4)
        model.deadlinesPass()
        model.endingBegins(task, .failure(.deadlineExceeded), at: onQueue(0))
        #expect(model.violation?.rule == 3)
    }

    @Test("Contract 11: A load that continues after its deadline is a violation")
    func outlived() {
        _ = askUntil(5)
        model.clockAdvances(5)
        model.checkIdle(ImagePipeline.Statistics())
        #expect(model.violation?.rule == 11)
    }

    @Test("Contract 1: A callback on another queue is a violation")
    func otherQueue() {
        let task = ask(queue: 0)
        start(0)
        model.exchangeEnds(0, .content)
        model.endingBegins(task, good(0), at: onQueue(1))
        #expect(model.violation?.rule == 1)
    }

    @Test("Contract 2: A callback inside the call is a violation")
    func insideTheCall() {
        let task = ask()
        start(0)
        model.exchangeEnds(0, .content)
        var context = onQueue(0)
        context.loading = task
        model.endingBegins(task, good(0), at: context)
        #expect(model.violation?.rule == 2)
    }

    @Test("Contract 3: A second or a missing ending is a violation")
    func endings() {
        let task = ask()
        start(0)
        model.exchangeEnds(0, .content)
        model.endingBegins(task, good(0), at: onQueue(0))
        model.callbackReturned(task)
        model.endingBegins(task, good(0), at: onQueue(0))
        #expect(model.violation?.rule == 3)

        let other = ContractModel(bounds: Bounds())
        _ = other.requested(spec, priority: .normal, queue: -1)
        other.finishes()
        #expect(other.violation?.rule == 3)
    }

    @Test("Contract 4: A callback after cancel() is a violation")
    func afterCancel() {
        let task = ask()
        start(0)
        model.exchangeEnds(0, .content)
        model.cancels(task)
        model.endingBegins(task, good(0), at: onQueue(0))
        #expect(model.violation?.rule == 4)
    }

    @Test("Contract 5: Decreasing progress is a violation")
    func progressGoesBack() {
        let task = ask()
        start(0)
        model.bytesArrive(0, received: 8)
        for received in [8, 4] as [Int64] {
            model.progressBegins(task, received: received, at: onQueue(0))
            model.callbackReturned(task)
        }
        #expect(model.violation?.rule == 5)
    }

    @Test("Contract 7: A duplicate, an abandoned or a wrongly prioritised exchange is a violation")
    func oneJob() {
        _ = ask()
        start(0)
        start(1)
        #expect(model.violation?.rule == 7)

        let abandoned = ContractModel(bounds: Bounds())
        let task = abandoned.requested(spec, priority: .normal, queue: 0)
        abandoned.subscribes(task)
        abandoned.exchangeStarts(0, kind: .bytes, resource: 1, language: 1, origin: 0, priority: .normal)
        abandoned.cancels(task)
        abandoned.checkIdle(ImagePipeline.Statistics())
        #expect(abandoned.violation?.rule == 7)

        let worth = ContractModel(bounds: Bounds())
        worth.subscribes(worth.requested(spec, priority: .high, queue: 0))
        worth.exchangeStarts(0, kind: .bytes, resource: 1, language: 1, origin: 0, priority: .normal)
        #expect(worth.violation?.rule == 7)

        let raised = ContractModel(bounds: Bounds())
        let subscriber = raised.requested(spec, priority: .low, queue: 0)
        raised.subscribes(subscriber)
        raised.exchangeStarts(0, kind: .bytes, resource: 1, language: 1, origin: 0, priority: .low)
        raised.prioritizes(subscriber, to: .high)
        raised.exchangeIsPrioritized(0, to: .high)
        raised.checkPriorities()
        #expect(raised.violation == nil)
        raised.prioritizes(subscriber, to: .normal)
        raised.checkPriorities()
        #expect(raised.violation?.rule == 7)
    }

    @Test("Contract 8: The result of another request is a violation")
    func wrongAnswer() {
        let task = ask()
        start(0)
        model.exchangeEnds(0, .content)
        model.endingBegins(task, good(0, resource: 2), at: onQueue(0))
        #expect(model.violation?.rule == 8)
    }

    @Test("Contract 9: If a queue drops its work, a missing ending that it never held is a violation")
    func dropped() {
        let early = ask()
        model.drops(queue: 0)
        start(0)
        model.exchangeEnds(0, .content)
        model.released(early, at: onQueue(0))
        model.finishes()
        #expect(model.violation?.rule == 3)
    }

    @Test("Contract 10: A closure released outside its queue is a violation")
    func releasedElsewhere() {
        let task = ask()
        model.released(task, at: CallContext())
        #expect(model.violation?.rule == 10)
    }

    @Test("Contract 7: An exchange without a willSend call, or a call for no task, is a violation")
    func unasked() {
        var bounds = Bounds()
        bounds.callsWillSend = true
        let model = ContractModel(bounds: bounds)
        model.subscribes(model.requested(spec, priority: .normal, queue: 0))
        model.exchangeStarts(0, kind: .bytes, resource: 1, language: 1, origin: 0, priority: .normal)
        #expect(model.violation?.rule == 7)

        let other = ContractModel(bounds: bounds)
        _ = other.callsWillSend(arguments(), isCancelled: false, askedAt: 0, isOutermost: true)
        #expect(other.violation?.rule == 7)
    }

    private func arguments(isAgain: Bool = false) -> ContractModel.WillSendArguments {
        ContractModel.WillSendArguments(
            kind: .bytes, resource: 1, language: 1, origin: 0, isRedirected: false, hasCredentials: false,
            isAgain: isAgain)
    }

    @Test("Contract 7: A repeated hook call without a 401, or a cancelled needed one, is a violation")
    func askedAgain() {
        var bounds = Bounds()
        bounds.callsWillSend = true
        let model = ContractModel(bounds: bounds)
        model.subscribes(model.requested(spec, priority: .normal, queue: 0))
        let call = model.callsWillSend(arguments(), isCancelled: false, askedAt: 0, isOutermost: true)
        #expect(model.violation == nil)
        model.callIsCancelled(call)
        #expect(model.violation?.rule == 7)

        let other = ContractModel(bounds: bounds)
        _ = other.callsWillSend(arguments(isAgain: true), isCancelled: false, askedAt: 0, isOutermost: true)
        #expect(other.violation?.rule == 7)
    }

    @Test("Contract 3: With a fallback, delivering the first failure or no ending is a violation")
    func forgotten() {
        let next = RequestSpec(kind: .image, resource: 2, origin: 0)
        let model = ContractModel(bounds: Bounds())
        model.fallbacks = [1: [next]]
        let task = model.requested(spec, priority: .normal, queue: 0)
        model.subscribes(task)
        model.exchangeStarts(0, kind: .bytes, resource: 1, language: 1, origin: 0, priority: .normal)
        model.exchangeEnds(0, .failure(.badStatus))
        model.endingBegins(task, .failure(.badStatus), at: onQueue(0))
        #expect(model.violation?.rule == 3)

        let other = ContractModel(bounds: Bounds())
        other.fallbacks = [1: [next]]
        other.subscribes(other.requested(spec, priority: .normal, queue: 0))
        other.exchangeStarts(0, kind: .bytes, resource: 1, language: 1, origin: 0, priority: .normal)
        other.exchangeEnds(0, .failure(.badStatus))
        other.finishes()
        #expect(other.violation?.rule == 3)
    }

    @Test("Contract 8: Sending credentials to another origin is a violation")
    func credentials() {
        var secret = spec
        secret.hasCredentials = true
        model.subscribes(model.requested(secret, priority: .normal, queue: 0))
        model.exchangeStarts(
            0, kind: .bytes, resource: 1, language: 1, origin: 0, hasCredentials: true, priority: .normal)
        model.exchangeEnds(0, .redirect(origin: 1))
        #expect(model.violation == nil)
        model.exchangeStarts(
            1, kind: .bytes, resource: 1, language: 1, origin: 1, isRedirected: true, hasCredentials: true,
            priority: .normal)
        #expect(model.violation?.rule == 8)
    }

    @Test("The model distinguishes identical redirected fetches by their receivers", arguments: [true, false])
    func twins(cancelsItsOwn: Bool) {
        let (here, own, late) = (Receiver(), Receiver(), Receiver())
        func start(_ serial: Int, _ language: UInt8, _ receiver: Receiver, isRedirected: Bool = false) {
            model.exchangeStarts(
                serial, kind: .bytes, resource: 1, language: language, origin: isRedirected ? 1 : 0,
                isRedirected: isRedirected, priority: .normal, receiver: ObjectIdentifier(receiver))
        }
        var other = spec
        other.language = 2
        _ = ask()
        let leaving = model.requested(other, priority: .normal, queue: 0)
        model.subscribes(leaving)
        start(0, 1, here)
        model.responseVaries(0)
        start(1, 2, own)
        model.subscribes(model.requested(other, priority: .normal, queue: 0))
        start(2, 2, late)
        model.exchangeEnds(1, .redirect(origin: 1))
        model.exchangeEnds(2, .redirect(origin: 1))
        start(3, 2, late, isRedirected: true)
        start(4, 2, own, isRedirected: true)
        model.cancels(leaving)
        model.exchangeIsCancelled(cancelsItsOwn ? 4 : 3)
        #expect(model.violation?.rule == (cancelsItsOwn ? nil : 7))
    }

    @Test(
        "Contract 7: A token that is made while another is good or being made is a violation", arguments: [true, false])
    func tokens(isGood: Bool) {
        _ = model.tokenCreationBegins(isCancelled: true)
        let creation = model.tokenCreationBegins(isCancelled: false)
        model.tokenCreationEnds(creation, isGood: true)
        model.tokenIsRefused(creation)
        let second = model.tokenCreationBegins(isCancelled: false)
        if isGood { model.tokenCreationEnds(second, isGood: true) }
        #expect(model.violation == nil)
        _ = model.tokenCreationBegins(isCancelled: false)
        #expect(model.violation?.rule == 7)
    }

    @Test("Contract 11: A fetch beyond the limit is a violation")
    func places() {
        var bounds = Bounds()
        bounds.fetches = 1
        let model = ContractModel(bounds: bounds)
        for resource in 1...2 as ClosedRange<UInt8> {
            let spec = RequestSpec(kind: .bytes, resource: resource, origin: 0)
            model.subscribes(model.requested(spec, priority: .normal, queue: 0))
            model.exchangeStarts(
                Int(resource), kind: .bytes, resource: resource, language: 1, origin: 0, priority: .normal)
        }
        #expect(model.violation?.rule == 11)
    }
}
