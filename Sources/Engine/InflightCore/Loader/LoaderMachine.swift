/// What a loader decides, as a value: it is told what happened, changes its state, and answers what is to be done. No
/// queue, no pipeline, no code of a caller.
///
///     idle ──request set, start──▶ loading ──ended──▶ loaded, failed
///      ▲  ▲                          │                  │
///      │  └──cancel, answer dropped──┘                  │  another request: loading again
///      └──reset───────────────────────◀─────────────────┘
///
/// Every load has a number, and only the latest counts: what an earlier one says changes nothing, in whatever order it
/// comes.
struct LoaderMachine<Request, Progress, Preview, Picture, Failure> {
    enum State {
        case idle
        case loading(Progress?)
        case loaded(Picture)
        case failed(Failure)
    }

    /// What is to be done, in this order: the new load joins before the old one leaves, so that what they share goes on.
    struct Actions: Hashable {
        /// Begin the load of ``request`` under this number.
        var begins: Int?
        /// Cancel the load that was under way before.
        var leavesOld = false

        static var nothing: Self { Self() }
    }

    private(set) var request: Request?
    private(set) var state = State.idle
    /// What there is of the picture that is under way.
    private(set) var preview: Preview?
    /// The number of the latest load.
    private(set) var latest = 0

    var isLoading: Bool {
        if case .loading = state { return true }
        return false
    }

    /// Whether the load of this number is under way and wanted.
    func awaits(_ number: Int) -> Bool { number == latest && isLoading }

    // MARK: Told by the owner

    /// - Parameter isSame: whether it asks for the same as the request before.
    mutating func requestSet(_ new: Request?, isSame: Bool) -> Actions {
        guard let new else { return resetCalled() }
        let isSame = isSame && request != nil
        request = new
        if isSame { return startCalled(again: false) }
        return begin()
    }

    /// The request is to be loaded another way: what was shown, or is under way, is not what is wanted any more. Nothing
    /// is begun that was not begun before.
    mutating func requestAltered(_ new: Request, isSame: Bool) -> Actions {
        request = new
        if case .idle = state { return .nothing }
        return isSame ? .nothing : begin()
    }

    mutating func startCalled() -> Actions { startCalled(again: true) }

    /// - Parameter again: whether what has failed is tried again.
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

    // MARK: Told by the load

    mutating func foundInMemory(_ picture: Picture, for number: Int) {
        if awaits(number) { enter(.loaded(picture)) }
    }

    /// - Returns: whether that is news.
    mutating func progressed(to progress: Progress, in number: Int) -> Bool {
        guard awaits(number) else { return false }
        state = .loading(progress)
        return true
    }

    /// - Returns: whether that is news.
    mutating func previewed(_ new: Preview, in number: Int) -> Bool {
        guard awaits(number) else { return false }
        preview = new
        return true
    }

    /// - Returns: whether that is news.
    mutating func loadEnded(_ number: Int, with outcome: State) -> Bool {
        guard awaits(number) else { return false }
        enter(outcome)
        return true
    }

    /// The callback queue let go of the ending: nobody will hear of it.
    mutating func answerDropped() {
        if isLoading { enter(.idle) }
    }
}
