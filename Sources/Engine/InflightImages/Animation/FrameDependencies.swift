/// Computes which frames a frame of an animation depends on, and whether any composed frame is transparent.
struct FrameDependencies {
    /// For each frame, whether the canvas is fully transparent before it, for any composition of the earlier frames.
    private let startsEmpty: [Bool]
    /// For each frame, whether the canvas before it is invisible during the frame and after its disposal.
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
            // A frame that restores the contents afterwards needs them even if it hides them.
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

    /// Returns the last frame, up to `index`, that can be composed without earlier frames.
    func keyFrame(before index: Int) -> Int {
        (0...index).last { startsAnew[$0] } ?? 0
    }

    /// Returns the first frame to draw on a canvas that is ready for `ready` (`nil` if for none) in order to reach
    /// frame `index`, and whether to clear the canvas first.
    func start(for index: Int, ready: Int?) -> (first: Int, clears: Bool) {
        let key = keyFrame(before: index)
        if let ready, ready <= index, ready >= key { return (ready, false) }
        return (key, true)
    }
}
