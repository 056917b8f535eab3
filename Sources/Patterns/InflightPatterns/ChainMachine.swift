/// The state machine of a callback chain: which entry to ask about, and what follows.
///
///     idle ─▶ asking(0) ─▶ working(0) ─▶ asking(1) ─▶ … ─▶ ended
package struct ChainMachine {
    package enum Phase: Equatable, Sendable {
        case idle
        /// The question about this entry is queued on the callback queue, or is being answered.
        case asking(Int)
        /// The answer is being acted on.
        case working(Int)
        case ended
        case cancelled
    }

    package enum Action: Equatable, Sendable {
        case nothing
        case ask(Int)
        case work(Int)
        case end
    }

    package private(set) var phase = Phase.idle
    private let count: Int

    package init(count: Int) {
        self.count = count
    }

    package mutating func started() -> Action {
        guard phase == .idle else { return .nothing }
        return proceed(to: 0)
    }

    /// Whether to ask the question now that it has reached the callback queue.
    package func wants(question index: Int) -> Bool { phase == .asking(index) }

    /// The question was answered, or was dropped without an answer.
    package mutating func questionEnded(_ index: Int) -> Action {
        guard phase == .asking(index) else { return .nothing }
        phase = .working(index)
        return .work(index)
    }

    package mutating func workReturned(_ index: Int, stops: Bool) -> Action {
        guard phase == .working(index) else { return .nothing }
        return proceed(to: stops ? count : index + 1)
    }

    /// - Returns: Whether the chain had neither ended nor been cancelled before.
    package mutating func cancelled() -> Bool {
        switch phase {
        case .ended, .cancelled: return false
        case .idle, .asking, .working:
            phase = .cancelled
            return true
        }
    }

    private mutating func proceed(to index: Int) -> Action {
        phase = index < count ? .asking(index) : .ended
        return index < count ? .ask(index) : .end
    }
}
