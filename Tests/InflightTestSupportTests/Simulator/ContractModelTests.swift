import InflightContract
import InflightCore
import Testing

/// The model is told what a broken engine would do, and has to name the rule.
@Suite("The model of the contract", .timeLimit(.minutes(10)))
struct ContractModelTests {
    private let model = ContractModel(bounds: Bounds())
    private let wish = Wish(kind: .bytes, resource: 1, origin: 0)

    private func ask(_ priority: LoadPriority = .normal, queue: Int = 0) -> Int {
        let task = model.asked(wish, priority: priority, queue: queue)
        model.joins(task)
        return task
    }

    private func start(_ serial: Int, priority: LoadPriority = .normal, resource: UInt8 = 1) {
        model.exchangeStarts(
            serial, kind: .bytes, resource: resource, language: 1, origin: 0, priority: priority)
    }

    private final class Receiver {}

    private func onQueue(_ queue: Int) -> Place {
        var place = Place()
        place.queue = queue
        return place
    }

    private func good(_ exchange: Int, resource: UInt8 = 1) -> Ending {
        .content(Content(resource: resource, language: 0, exchange: exchange), .network)
    }

    @Test("finds nothing in a load that goes well")
    func allWell() {
        let task = ask()
        start(0)
        model.bytesCome(0, received: 8)
        model.progressBegins(task, received: 8, at: onQueue(0))
        model.callbackReturned(task)
        model.exchangeEnds(0, .content)
        model.endingBegins(task, good(0), at: onQueue(0))
        model.callbackReturned(task)
        model.released(task, at: onQueue(0))
        model.finishes()
        #expect(model.violation == nil)
    }

    @Test("contract 1: a callback on another queue")
    func otherQueue() {
        let task = ask(queue: 0)
        start(0)
        model.exchangeEnds(0, .content)
        model.endingBegins(task, good(0), at: onQueue(1))
        #expect(model.violation?.rule == 1)
    }

    @Test("contract 2: a callback inside the call")
    func insideTheCall() {
        let task = ask()
        start(0)
        model.exchangeEnds(0, .content)
        var place = onQueue(0)
        place.loading = task
        model.endingBegins(task, good(0), at: place)
        #expect(model.violation?.rule == 2)
    }

    @Test("contract 3: a second ending, and none at all")
    func endings() {
        let task = ask()
        start(0)
        model.exchangeEnds(0, .content)
        model.endingBegins(task, good(0), at: onQueue(0))
        model.callbackReturned(task)
        model.endingBegins(task, good(0), at: onQueue(0))
        #expect(model.violation?.rule == 3)

        let other = ContractModel(bounds: Bounds())
        _ = other.asked(wish, priority: .normal, queue: -1)
        other.finishes()
        #expect(other.violation?.rule == 3)
    }

    @Test("contract 4: a callback after cancel()")
    func afterCancel() {
        let task = ask()
        start(0)
        model.exchangeEnds(0, .content)
        model.cancels(task)
        model.endingBegins(task, good(0), at: onQueue(0))
        #expect(model.violation?.rule == 4)
    }

    @Test("contract 5: progress that goes back")
    func progressGoesBack() {
        let task = ask()
        start(0)
        model.bytesCome(0, received: 8)
        for received in [8, 4] as [Int64] {
            model.progressBegins(task, received: received, at: onQueue(0))
            model.callbackReturned(task)
        }
        #expect(model.violation?.rule == 5)
    }

    @Test("contract 7: a second exchange for a key, one that nobody waits for any more, and a wrong priority")
    func oneJob() {
        _ = ask()
        start(0)
        start(1)
        #expect(model.violation?.rule == 7)

        let abandoned = ContractModel(bounds: Bounds())
        let task = abandoned.asked(wish, priority: .normal, queue: 0)
        abandoned.joins(task)
        abandoned.exchangeStarts(0, kind: .bytes, resource: 1, language: 1, origin: 0, priority: .normal)
        abandoned.cancels(task)
        abandoned.rests(ImagePipeline.Statistics())
        #expect(abandoned.violation?.rule == 7)

        let worth = ContractModel(bounds: Bounds())
        worth.joins(worth.asked(wish, priority: .high, queue: 0))
        worth.exchangeStarts(0, kind: .bytes, resource: 1, language: 1, origin: 0, priority: .normal)
        #expect(worth.violation?.rule == 7)

        let raised = ContractModel(bounds: Bounds())
        let subscriber = raised.asked(wish, priority: .low, queue: 0)
        raised.joins(subscriber)
        raised.exchangeStarts(0, kind: .bytes, resource: 1, language: 1, origin: 0, priority: .low)
        raised.prioritizes(subscriber, to: .high)
        raised.exchangeIsPrioritized(0, to: .high)
        raised.checkPriorities()
        #expect(raised.violation == nil)
        raised.prioritizes(subscriber, to: .normal)
        raised.checkPriorities()
        #expect(raised.violation?.rule == 7)
    }

    @Test("contract 8: what somebody else asked for")
    func wrongAnswer() {
        let task = ask()
        start(0)
        model.exchangeEnds(0, .content)
        model.endingBegins(task, good(0, resource: 2), at: onQueue(0))
        #expect(model.violation?.rule == 8)
    }

    @Test("contract 9: where a queue lets go of its work, only what it held may be missing")
    func dropped() {
        let early = ask()
        model.drops(queue: 0)
        start(0)
        model.exchangeEnds(0, .content)
        model.released(early, at: onQueue(0))
        model.finishes()
        #expect(model.violation?.rule == 3)
    }

    @Test("contract 10: closures that are released elsewhere")
    func releasedElsewhere() {
        let task = ask()
        model.released(task, at: Place())
        #expect(model.violation?.rule == 10)
    }

    @Test("contract 7: what goes out though willSend was not asked, and a hook that is asked for nobody")
    func unasked() {
        var bounds = Bounds()
        bounds.asksBefore = true
        let model = ContractModel(bounds: bounds)
        model.joins(model.asked(wish, priority: .normal, queue: 0))
        model.exchangeStarts(0, kind: .bytes, resource: 1, language: 1, origin: 0, priority: .normal)
        #expect(model.violation?.rule == 7)

        let other = ContractModel(bounds: bounds)
        _ = other.asksBefore(question(), isCancelled: false, askedAt: 0, isOutermost: true)
        #expect(other.violation?.rule == 7)
    }

    private func question(isAgain: Bool = false) -> ContractModel.Question {
        ContractModel.Question(
            kind: .bytes, resource: 1, language: 1, origin: 0, isRedirected: false, hasCredentials: false,
            isAgain: isAgain)
    }

    @Test("contract 7: a hook that is asked again without a 401, and one that is cancelled while somebody waits")
    func askedAgain() {
        var bounds = Bounds()
        bounds.asksBefore = true
        let model = ContractModel(bounds: bounds)
        model.joins(model.asked(wish, priority: .normal, queue: 0))
        let call = model.asksBefore(question(), isCancelled: false, askedAt: 0, isOutermost: true)
        #expect(model.violation == nil)
        model.callIsCancelled(call)
        #expect(model.violation?.rule == 7)

        let other = ContractModel(bounds: bounds)
        _ = other.asksBefore(question(isAgain: true), isCancelled: false, askedAt: 0, isOutermost: true)
        #expect(other.violation?.rule == 7)
    }

    @Test("contract 3: who has a fallback and is told of the first failure, and who is forgotten between the two")
    func forgotten() {
        let next = Wish(kind: .picture, resource: 2, origin: 0)
        let model = ContractModel(bounds: Bounds())
        model.fallbacks = [1: [next]]
        let task = model.asked(wish, priority: .normal, queue: 0)
        model.joins(task)
        model.exchangeStarts(0, kind: .bytes, resource: 1, language: 1, origin: 0, priority: .normal)
        model.exchangeEnds(0, .failure(.badStatus))
        model.endingBegins(task, .failure(.badStatus), at: onQueue(0))
        #expect(model.violation?.rule == 3)

        let other = ContractModel(bounds: Bounds())
        other.fallbacks = [1: [next]]
        other.joins(other.asked(wish, priority: .normal, queue: 0))
        other.exchangeStarts(0, kind: .bytes, resource: 1, language: 1, origin: 0, priority: .normal)
        other.exchangeEnds(0, .failure(.badStatus))
        other.finishes()
        #expect(other.violation?.rule == 3)
    }

    @Test("contract 8: credentials that go to another origin than their own")
    func credentials() {
        var secret = wish
        secret.hasCredentials = true
        model.joins(model.asked(secret, priority: .normal, queue: 0))
        model.exchangeStarts(
            0, kind: .bytes, resource: 1, language: 1, origin: 0, hasCredentials: true, priority: .normal)
        model.exchangeEnds(0, .redirect(origin: 1))
        #expect(model.violation == nil)
        model.exchangeStarts(
            1, kind: .bytes, resource: 1, language: 1, origin: 1, isRedirected: true, hasCredentials: true,
            priority: .normal)
        #expect(model.violation?.rule == 8)
    }

    @Test("tells two redirected fetches that look the same by who hears of them", arguments: [true, false])
    func twins(cancelsItsOwn: Bool) {
        let (here, own, late) = (Receiver(), Receiver(), Receiver())
        func start(_ serial: Int, _ language: UInt8, _ receiver: Receiver, isRedirected: Bool = false) {
            model.exchangeStarts(
                serial, kind: .bytes, resource: 1, language: language, origin: isRedirected ? 1 : 0,
                isRedirected: isRedirected, priority: .normal, receiver: ObjectIdentifier(receiver))
        }
        var other = wish
        other.language = 2
        _ = ask()
        let leaving = model.asked(other, priority: .normal, queue: 0)
        model.joins(leaving)
        start(0, 1, here)
        model.answerVaries(0)
        start(1, 2, own)
        model.joins(model.asked(other, priority: .normal, queue: 0))
        start(2, 2, late)
        model.exchangeEnds(1, .redirect(origin: 1))
        model.exchangeEnds(2, .redirect(origin: 1))
        start(3, 2, late, isRedirected: true)
        start(4, 2, own, isRedirected: true)
        model.cancels(leaving)
        model.exchangeIsCancelled(cancelsItsOwn ? 4 : 3)
        #expect(model.violation?.rule == (cancelsItsOwn ? nil : 7))
    }

    @Test("contract 7: a token that is made while another is good, or being made")
    func tokens() {
        _ = model.tokenIsMade(isCancelled: true)
        let making = model.tokenIsMade(isCancelled: false)
        model.tokenMakingEnds(making, isGood: true)
        model.tokenIsRefused(making)
        _ = model.tokenIsMade(isCancelled: false)
        #expect(model.violation == nil)
        _ = model.tokenIsMade(isCancelled: false)
        #expect(model.violation?.rule == 7)
    }

    @Test("contract 11: a fetch beyond the limit")
    func places() {
        var bounds = Bounds()
        bounds.fetches = 1
        let model = ContractModel(bounds: bounds)
        for resource in 1...2 as ClosedRange<UInt8> {
            let wish = Wish(kind: .bytes, resource: resource, origin: 0)
            model.joins(model.asked(wish, priority: .normal, queue: 0))
            model.exchangeStarts(
                Int(resource), kind: .bytes, resource: resource, language: 1, origin: 0, priority: .normal)
        }
        #expect(model.violation?.rule == 11)
    }
}
