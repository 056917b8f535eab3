internal import InflightConcurrency

/// When previews of one body are made, as a value: it is told what happened and answers what is to be done.
///
/// One is made at a time, no sooner than an interval after the last one was, or after the body began, and only when there
/// is an eighth more than it had: so that all previews together cost a few times what the picture itself does, however
/// long it takes. What comes in between is not forgotten: a body that stalls is shown as far as it has come.
struct PreviewMachine {
    enum Action: Hashable {
        case nothing
        /// Of what there is.
        case make
        /// Say ``timeCame(now:)`` then.
        case wake(MonotonicTime)
    }

    private enum Phase {
        /// There is nothing new.
        case resting
        case waiting
        case making
        /// No more are made.
        case ended
    }

    /// After what cannot be made for want of a place.
    static let leastPause = Duration.milliseconds(50)

    private let interval: Duration
    private let leastBytes: Int64
    private var phase = Phase.resting
    private var bytes: Int64 = 0
    /// How many of them the last one was made of.
    private var usedBytes: Int64 = 0
    private var next: MonotonicTime

    init(_ options: PreviewOptions, now: MonotonicTime) {
        interval = options.interval
        leastBytes = options.minimumBytes
        next = now + options.interval
    }

    var isEnded: Bool { phase == .ended }

    /// That many bytes of the body are there.
    mutating func bytesCame(_ count: Int64, now: MonotonicTime) -> Action {
        bytes = count
        return phase == .resting ? goOn(now) : .nothing
    }

    /// The time that ``Action/wake(_:)`` named.
    mutating func timeCame(now: MonotonicTime) -> Action {
        guard phase == .waiting else { return .nothing }
        phase = .resting
        return goOn(now)
    }

    /// What was to be made is made, or turned out not to be there yet.
    ///
    /// - Parameter isFinal: whether none that is better will come.
    mutating func made(isFinal: Bool, now: MonotonicTime) -> Action {
        guard phase == .making else { return .nothing }
        phase = isFinal ? .ended : .resting
        next = now + interval
        return isFinal ? .nothing : goOn(now)
    }

    /// What was to be made has no place now.
    mutating func refused(now: MonotonicTime) -> Action {
        guard phase == .making else { return .nothing }
        phase = .resting
        usedBytes = 0
        next = now + max(interval, Self.leastPause)
        return goOn(now)
    }

    /// The body begins anew.
    mutating func beganAnew() {
        bytes = 0
        usedBytes = 0
    }

    mutating func ended() { phase = .ended }

    private mutating func goOn(_ now: MonotonicTime) -> Action {
        guard bytes >= max(leastBytes, usedBytes + usedBytes / 8 + 1) else { return .nothing }
        guard now >= next else {
            phase = .waiting
            return .wake(next)
        }
        phase = .making
        usedBytes = bytes
        return .make
    }
}
