/// Decides the steps of one item of a run, from its line to its report, without a queue, a file or a clock.
///
/// `Load` is the type of a running load, `ProcessedBody` that of a written file without its name.
struct ItemMachine<Load, ProcessedBody> {
    enum State {
        /// The run looks for a file of an earlier run.
        case lookingUp
        /// The engine loads the item; `nil` until the load has begun.
        case loading(Load?)
        /// The body is being checked, encoded and written.
        case making
        /// The file is written, and waits for its name, because an earlier item may get the same one.
        case unnamed(ProcessedBody)
        case ended
    }

    enum Event {
        /// The output folder cannot be used.
        case refused
        case lookedUp(isFound: Bool)
        case loadBegan(Load)
        case loaded(isSuccess: Bool)
        /// The server confirmed the file of an earlier run.
        case confirmed
        /// The server redirected a load that asked whether the image has changed.
        case redirected
        /// The written file; `nil` if nothing was written, by choice or because of a failure.
        case made(ProcessedBody?)
        case named
        /// The run ends before the item. A body that is being processed is still reported.
        case runEnded
        /// The processing was cancelled with the run.
        case makingCancelled
    }

    enum Step {
        case none
        case load
        case make
        /// Request a name.
        case name
        /// Name the file, then report.
        case publish(ProcessedBody)
        /// Keep the earlier run's file, then report.
        case skip
        case report
        /// Report nothing; cancel the load, if any.
        case abandon(Load?)
    }

    private(set) var state: State

    init(looksUp: Bool) {
        state = looksUp ? .lookingUp : .loading(nil)
    }

    /// Whether the item counts as loading: the engine works on it, or its body is in memory.
    var isLoading: Bool {
        switch state {
        case .lookingUp, .loading, .making: true
        case .unnamed, .ended: false
        }
    }

    /// - Precondition: The event is possible in the state. `runEnded` always is; an ended item ignores all events.
    mutating func take(_ event: Event) -> Step {
        switch (state, event) {
        case (.ended, _): return .none
        case (.lookingUp, .refused), (.loading(nil), .refused), (.making, .made(nil)):
            state = .ended
            return .report
        case (.lookingUp, .lookedUp(let isFound)):
            state = isFound ? .ended : .loading(nil)
            return isFound ? .skip : .load
        case (.loading(nil), .loadBegan(let load)):
            state = .loading(load)
            return .none
        case (.loading, .loaded(let isSuccess)):
            state = isSuccess ? .making : .ended
            return isSuccess ? .make : .report
        case (.loading, .confirmed):
            state = .ended
            return .skip
        case (.loading, .redirected):
            state = .loading(nil)
            return .load
        case (.loading(let load), .runEnded):
            state = .ended
            return .abandon(load)
        case (.making, .made(let made?)):
            state = .unnamed(made)
            return .name
        case (.making, .makingCancelled):
            state = .ended
            return .abandon(nil)
        case (.unnamed(let made), .named):
            state = .ended
            return .publish(made)
        case (.lookingUp, .runEnded), (.making, .runEnded), (.unnamed, .runEnded): return .none
        default: preconditionFailure("the event \(event) is impossible in the state \(state)")
        }
    }
}
