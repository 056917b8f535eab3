import Glibc
import InflightConcurrency
import InflightCore

/// One load, the operations on it, and its events. Every event is checked against the contract when it arrives.
final class Record: Sendable {
    enum Form: String, Sendable { case callback, awaited, stream, operation }

    enum Outcome {
        case picture(PixelBuffer)
        case bytes(Bytes)
        /// The result is right, and contains nothing of another item.
        case right
        case failure(LoadError)
    }

    private struct State {
        weak var task: ImageTask?
        /// Cancels a form that has no image task: a Swift task or an operation.
        var cancelOther: (@Sendable () -> Void)?
        /// The thread inside the call that requested the load.
        var asking: pthread_t?
        /// Threads inside `cancel()`.
        var cancelling: [pthread_t] = []
        /// Whether the load was taken before the shutdown of its pipeline began.
        var wasTaken = false
        var wasCancelRequested = false
        /// Whether `isCancelled` was seen to be true.
        var isCancelled = false
        /// Whether the load was cancelled on its own serial queue.
        var isSilent = false
        var runningCallbacks = 0
        var lastBytes: Int64 = -1
        var endings = 0
    }

    let form: Form
    let spec: RequestSpec
    let generation: Generation
    /// The queue of the load's callbacks; nil for forms without callbacks.
    let place: Place?
    /// The bits that decide the reactions of callbacks.
    let mood: UInt64
    private let url: String
    private let caller: Caller
    private let id: Int
    private let state = Guarded(State())

    init(
        _ form: Form, _ spec: RequestSpec, _ generation: Generation, place: Place? = nil, mood: UInt64 = 0,
        caller: Caller
    ) {
        self.form = form
        self.spec = spec
        self.generation = generation
        self.place = place
        self.mood = mood
        self.caller = caller
        url = generation.itemServer.url(spec.item)
        id = caller.nextID()
        caller.opened(self, id)
    }

    // MARK: Requesting

    func asks() { state.withLock { $0.asking = pthread_self() } }

    /// The call has returned. A form without callbacks may make its request later.
    func asked(_ task: ImageTask?, cancelOther: (@Sendable () -> Void)? = nil) {
        let isTaken = form == .callback && !generation.isEnding
        state.withLock { state in
            state.asking = nil
            state.task = task
            state.cancelOther = cancelOther
            state.wasTaken = isTaken
        }
    }

    private var task: ImageTask? { state.withLock { $0.task } }

    func setPriority(_ priority: ImageRequest.Priority) { task?.priority = priority }

    // MARK: Cancelling

    /// Cancels the load from any thread.
    ///
    /// - Parameter handed: the task that a callback received, possibly before the call that requested it has returned.
    func cancel(_ handed: ImageTask? = nil) {
        let (task, other) = state.withLock { state in
            state.wasCancelRequested = true
            state.cancelling.append(pthread_self())
            return (handed ?? state.task, state.cancelOther)
        }
        if let task {
            task.cancel()
            task.cancel()
            if task.isCancelled { state.withLock { $0.isCancelled = true } }
        } else {
            other?()
        }
        state.withLock { state in
            if let index = state.cancelling.firstIndex(where: { pthread_equal($0, pthread_self()) != 0 }) {
                state.cancelling.remove(at: index)
            }
        }
    }

    func wasCancelledByOthers() { state.withLock { $0.wasCancelRequested = true } }

    /// Cancels the load on its own queue. If that queue is serial, no callback may follow.
    func cancelOnOwnQueue(_ handed: ImageTask? = nil) {
        cancel(handed)
        if place?.isSerial == true { state.withLock { $0.isSilent = true } }
    }

    // MARK: Events

    func progressed(_ task: ImageTask?, _ progress: ImageTask.Progress) {
        enters(task)
        state.withLock { state in
            if state.endings > 0 { violation(5, "progress was delivered after the completion") }
            if progress.receivedBytes <= state.lastBytes { violation(5, "progress went backwards to \(progress)") }
            state.lastBytes = progress.receivedBytes
        }
        caller.count(.progress)
        caller.react(to: self, task, isEnding: false)
        leaves()
    }

    /// A stream receives a stale image. It must be the right one, and arrive before the ending.
    func wasShownStale(_ image: LoadedImage) {
        enters(nil)
        let endings = state.withLock { $0.endings }
        if endings > 0 { violation(5, "a stale image was delivered after the completion") }
        if !image.isStale { violation(7, "an image delivered as stale is fresh") }
        if let complaint = spec.complaint(about: image.pixels) { violation(7, complaint) }
        caller.count(.stale)
        leaves()
    }

    func ended(_ task: ImageTask?, _ outcome: Outcome) {
        enters(task)
        let (wasCancelRequested, wasTaken, endings) = state.withLock { state in
            state.endings += 1
            if form == .callback, state.isCancelled { violation(3, "it completed after isCancelled was true") }
            return (state.wasCancelRequested, state.wasTaken, state.endings)
        }
        if endings > 1 { violation(3, "it completed twice") }
        if form == .callback, task?.isCancelled == true { violation(3, "isCancelled is true inside the completion") }
        judge(outcome, wasCancelRequested: wasCancelRequested, wasTaken: wasTaken)
        caller.react(to: self, task, isEnding: true)
        leaves()
    }

    private func enters(_ task: ImageTask?) {
        if let place, !place.queue.isCurrent {
            violation(1, "a callback ran on \(CallbackQueue.currentName) in place of \(place.queue.name)")
        }
        if let task, form == .callback, task.request.url != url {
            violation(2, "a callback received another load's task")
        }
        state.withLock { state in
            if let asking = state.asking, pthread_equal(asking, pthread_self()) != 0 {
                violation(2, "a callback ran inside the call that requested the load")
            }
            if state.isSilent { violation(4, "a callback started after a cancel on its own serial queue") }
            state.runningCallbacks += 1
            if state.runningCallbacks > 1 { violation(5, "two callbacks of one load ran at once") }
        }
    }

    private func leaves() { state.withLock { $0.runningCallbacks -= 1 } }

    private func judge(_ outcome: Outcome, wasCancelRequested: Bool, wasTaken: Bool) {
        switch outcome {
        case .right: caller.count(.success)
        case .picture(let pixels):
            if let complaint = spec.complaint(about: pixels) { violation(7, complaint) }
            caller.count(.success)
        case .bytes(let bytes):
            if let complaint = spec.complaint(about: bytes) { violation(7, complaint) }
            caller.count(.success)
        case .failure(let error):
            if error.code == .cancelled {
                if form == .callback || !wasCancelRequested { violation(3, "it ended as cancelled, without a cancel") }
                caller.count(.cancelled)
            } else if error.code == .shutDown {
                if !generation.mayShutDown(takenBefore: wasTaken) {
                    violation(10, "it was shut down, but its pipeline was running or finishing: \(error)")
                }
                caller.count(.shutDown)
            } else {
                if !spec.mayFail(with: error.code) { violation(3, "it failed without a reason: \(error)") }
                caller.count(.expectedFailure)
            }
        }
    }

    /// No event follows. The closures, or their substitute, were released.
    func closed() {
        // The caller holds the closures itself until its call has returned.
        let (endings, isCancelled, wasCancelRequested, isInside) = state.withLock { state in
            let threads = state.cancelling + (state.asking.map { [$0] } ?? [])
            let isInside = threads.contains { pthread_equal($0, pthread_self()) != 0 }
            return (state.endings, state.isCancelled, state.wasCancelRequested, isInside)
        }
        if form == .callback, endings > 0, isCancelled { violation(3, "isCancelled is true after the completion") }
        if endings == 0 {
            if form != .callback, form != .stream { violation(3, "it never ended") }
            if form == .callback, !wasCancelRequested {
                if place?.drops == true {
                    caller.count(.dropped)
                } else if !isCancelled {
                    violation(3, "it was not cancelled, and its closures were released without a completion")
                }
            }
            if wasCancelRequested { caller.count(.cancelled) }
        }
        if let place, form == .callback, !place.drops, !isInside, !place.queue.isCurrent {
            violation(10, "its closures were released on \(CallbackQueue.currentName)")
        }
        caller.closed(id)
    }

    func violation(_ rule: Int, _ text: String) {
        caller.log.violation(rule, "\(text) [\(self)]")
    }
}

extension Record: CustomStringConvertible {
    var description: String {
        "\(form.rawValue) load of \(spec) on \(place?.kind.rawValue ?? "no queue"), caller \(caller.index)"
    }
}

/// The captures of closures. Its deinitialization signals their release.
final class Ticket: Sendable {
    let record: Record

    init(_ record: Record) {
        self.record = record
    }

    deinit {
        record.closed()
    }
}
