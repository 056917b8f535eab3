/// Decides which frame is made next, who is told of it, and which are held; without locks, threads and pixels.
///
/// One frame is made at a time: those that somebody waits for as they were asked for, then those that are wanted ahead.
struct FrameMachine<Frame, Waiter: AnyObject> {
    private struct Held {
        let index: Int
        let frame: Frame
        let cost: Int
    }

    enum Reply {
        /// It is held: nothing is waited for.
        case frame(Frame)
        case waits
    }

    private let maximumFrames: Int
    private let maximumCost: Int
    /// The least recently used first.
    private var held: [Held] = []
    private var waiters: [Int: [Waiter]] = [:]
    /// What is waited for and not being made, in order.
    private var wanted: [Int] = []
    /// What is expected and was not begun yet, with its place among all that is expected.
    private var ahead: [(place: Int, index: Int)] = []
    /// What is being made; whether it was told to stop, so that nobody new may wait for what comes of it.
    private var making: (index: Int, isStopped: Bool)?
    /// What the last frame that was made costs, as the next will.
    private var knownCost = 0

    init(maximumFrames: Int, maximumCost: Int) {
        self.maximumFrames = max(0, maximumFrames)
        self.maximumCost = maximumCost
    }

    var heldIndices: [Int] { held.map(\.index) }
    var heldCost: Int { held.reduce(0) { $0 + $1.cost } }

    mutating func asked(_ index: Int, by waiter: Waiter) -> Reply {
        if let place = held.firstIndex(where: { $0.index == index }) {
            let found = held.remove(at: place)
            held.append(found)
            return .frame(found.frame)
        }
        waiters[index, default: []].append(waiter)
        let isComing = making.map { $0.index == index && !$0.isStopped } ?? false
        if !isComing, !wanted.contains(index) { wanted.append(index) }
        return .waits
    }

    /// - Returns: whether what is being made is to stop, because nobody waits for it any more.
    mutating func left(_ index: Int, _ waiter: Waiter) -> Bool {
        guard let place = waiters[index]?.firstIndex(where: { $0 === waiter }) else { return false }
        waiters[index]?.remove(at: place)
        guard waiters[index]?.isEmpty == true else { return false }
        waiters[index] = nil
        wanted.removeAll { $0 == index }
        guard let current = making, current.index == index, !current.isStopped else { return false }
        making?.isStopped = true
        return true
    }

    /// What will be asked for next, in order, instead of what was said before.
    mutating func expects(_ indices: [Int]) {
        ahead = indices.enumerated().map { ($0, $1) }
    }

    /// Nobody is left who could ask.
    ///
    /// - Returns: whether what is being made is to stop.
    mutating func closed() -> Bool {
        ahead = []
        guard let current = making, !current.isStopped else { return false }
        making?.isStopped = true
        return true
    }

    /// What to make now; `nil` where something is being made, or nothing is left to make.
    mutating func next() -> Int? {
        guard making == nil else { return nil }
        if !wanted.isEmpty {
            let index = wanted.removeFirst()
            making = (index, false)
            return index
        }
        // One place is that of the frame that is looked at now.
        let room = min(maximumFrames, knownCost > 0 ? maximumCost / knownCost : maximumFrames) - 1
        guard let position = ahead.firstIndex(where: { $0.place < room && !heldIndices.contains($0.index) }) else {
            return nil
        }
        let index = ahead[position].index
        // Begun once: a frame that was held and let go of again is not worth a second time.
        ahead.removeFirst(position + 1)
        making = (index, false)
        return index
    }

    /// A frame was made. Returns who is told, and what is let go of.
    mutating func made(_ frame: Frame, cost: Int) -> (told: [Waiter], released: [Frame]) {
        guard let index = making?.index else { preconditionFailure("a frame was made that was not asked for") }
        making = nil
        knownCost = cost
        held.removeAll { $0.index == index }
        held.append(Held(index: index, frame: frame, cost: cost))
        var released: [Frame] = []
        while held.count > maximumFrames || (heldCost > maximumCost && !held.isEmpty) {
            released.append(held.removeFirst().frame)
        }
        // Those too who came after it was told to stop: what they want is there.
        wanted.removeAll { $0 == index }
        return (waiters.removeValue(forKey: index) ?? [], released)
    }

    /// A frame could not be made. Returns who is told; none of those who came after it was told to stop.
    mutating func failed() -> [Waiter] {
        guard let (index, isStopped) = making else { preconditionFailure("a frame failed that was not asked for") }
        making = nil
        return isStopped ? [] : waiters.removeValue(forKey: index) ?? []
    }
}
