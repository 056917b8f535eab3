/// Which frames of an animation have to be put together for one of them, and whether any leaves transparency.
struct FrameOrder {
    /// For each frame, whether the canvas is transparent everywhere before it, whatever came before.
    private let startsEmpty: [Bool]
    /// For each frame, whether nothing of the canvas before it is ever seen, in it or behind it.
    private let startsAnew: [Bool]
    private let frames: [AnimationFramePlan]
    /// Whether any composed frame may have transparent pixels.
    let hasAlpha: Bool

    init(_ frames: [AnimationFramePlan], width: Int, height: Int) {
        var startsEmpty: [Bool] = []
        for index in frames.indices {
            guard index > 0 else {
                startsEmpty.append(true)
                continue
            }
            let before = frames[index - 1]
            switch before.disposal {
            case .keep: startsEmpty.append(false)
            case .restore: startsEmpty.append(startsEmpty[index - 1])
            case .clear:
                startsEmpty.append(startsEmpty[index - 1] || before.covers(width: width, height: height))
            }
        }
        self.startsEmpty = startsEmpty
        startsAnew = frames.indices.map { index in
            let frame = frames[index]
            let hidesAll =
                frame.covers(width: width, height: height) && (frame.blending == .replace || !frame.hasAlpha)
            // What is restored after a frame has to be known, hidden as it may be.
            return startsEmpty[index] || (hidesAll && frame.disposal != .restore)
        }
        self.frames = frames
        let isFilledAtOnce = frames.first.map { !$0.hasAlpha && $0.covers(width: width, height: height) } ?? false
        let staysFilled = frames.enumerated().allSatisfy { index, frame in
            let isLast = index == frames.count - 1
            let leavesHoles = frame.disposal == .clear || (index == 0 && frame.disposal == .restore)
            return (isLast || !leavesHoles) && (frame.blending == .over || !frame.hasAlpha)
        }
        hasAlpha = !(isFilledAtOnce && staysFilled)
    }

    /// The last frame, up to `index`, that can be composed without the ones before it.
    func keyFrame(before index: Int) -> Int {
        (0...index).last { startsAnew[$0] } ?? 0
    }

    /// What has to be done to a canvas that is ready for `ready` (`nil`: to none at all) until frame `index` can be put on
    /// it: from where on, and whether the canvas is cleared first.
    func start(for index: Int, ready: Int?) -> (first: Int, clears: Bool) {
        let key = keyFrame(before: index)
        if let ready, ready <= index, ready >= key { return (ready, false) }
        return (key, true)
    }
}
