/// The state machine of a loader, as a value: events in, actions out. It knows no queue and no pipeline, and runs no
/// caller's code.
///
///     idle ──request set, start──▶ loading ──ended──▶ loaded, failed
///      ▲  ▲                          │                  │
///      │  └──cancel, answer dropped──┘                  │  another request: loading again
///      └──reset───────────────────────◀─────────────────┘
///
/// Every load has a number, and only the latest counts: events of earlier ones change nothing, in whatever order they
/// come.
struct LoaderMachine<Request, Progress, Preview, Image, Failure> {
    enum State {
        case idle
        case loading(Progress?)
        case loaded(Image)
        case failed(Failure)
    }

    /// The actions, in this order: the new load joins before the old one leaves, so that their common jobs continue.
    struct Actions: Hashable {
        /// Start the load of ``request`` under this number.
        var begins: Int?
        /// Cancel the previous load.
        var leavesOld = false

        static var nothing: Self { Self() }
    }

    private(set) var request: Request?
    private(set) var state = State.idle
    /// The latest preview of the image that is loading.
    private(set) var preview: Preview?
    /// The number of the latest load.
    private(set) var latest = 0

    var isLoading: Bool {
        if case .loading = state { return true }
        return false
    }

    /// Returns whether the load of this number is in progress and wanted.
    func awaits(_ number: Int) -> Bool { number == latest && isLoading }

    // MARK: Owner events

    /// - Parameter isSame: whether it requests the same as the request before.
    mutating func requestSet(_ new: Request?, isSame: Bool) -> Actions {
        guard let new else { return resetCalled() }
        let isSame = isSame && request != nil
        request = new
        if isSame { return startCalled(again: false) }
        return begin()
    }

    /// The request is to be loaded in another way, which makes the current load or image obsolete. An idle loader
    /// starts nothing.
    mutating func requestAltered(_ new: Request, isSame: Bool) -> Actions {
        request = new
        if case .idle = state { return .nothing }
        return isSame ? .nothing : begin()
    }

    mutating func startCalled() -> Actions { startCalled(again: true) }

    /// - Parameter again: whether a failed load is retried.
    private mutating func startCalled(again: Bool) -> Actions {
        switch state {
        case .idle: request == nil ? .nothing : begin()
        case .failed: again ? begin() : .nothing
        case .loading, .loaded: .nothing
        }
    }

    mutating func cancelCalled() -> Actions {
        guard isLoading else { return .nothing }
        enter(.idle)
        return Actions(leavesOld: true)
    }

    mutating func resetCalled() -> Actions {
        let actions = Actions(leavesOld: isLoading)
        request = nil
        enter(.idle)
        return actions
    }

    private mutating func begin() -> Actions {
        let actions = Actions(begins: latest + 1, leavesOld: isLoading)
        latest += 1
        enter(.loading(nil))
        return actions
    }

    private mutating func enter(_ new: State) {
        state = new
        preview = nil
    }

    // MARK: Load events

    mutating func foundInMemory(_ image: Image, for number: Int) {
        if awaits(number) { enter(.loaded(image)) }
    }

    /// - Returns: whether this changes the state.
    mutating func progressed(to progress: Progress, in number: Int) -> Bool {
        guard awaits(number) else { return false }
        state = .loading(progress)
        return true
    }

    /// - Returns: whether this changes the state.
    mutating func previewed(_ new: Preview, in number: Int) -> Bool {
        guard awaits(number) else { return false }
        preview = new
        return true
    }

    /// - Returns: whether this changes the state.
    mutating func loadEnded(_ number: Int, with outcome: State) -> Bool {
        guard awaits(number) else { return false }
        enter(outcome)
        return true
    }

    /// The callback queue dropped the ending, which is never delivered.
    mutating func answerDropped() {
        if isLoading { enter(.idle) }
    }
}
