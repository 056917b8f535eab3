internal import InflightConcurrency

/// Decides when previews of one body are made, as a value: events in, actions out.
///
/// Previews are made one at a time, no sooner than an interval after the last one or the start of the body, and only
/// when the body has grown by an eighth since the last one. All previews together thus cost a few times as much as the
/// image itself, however long it takes. Bytes that arrive in between are shown later, even if the body stalls.
struct PreviewMachine {
    enum Action: Hashable {
        case nothing
        /// Make a preview of the bytes so far.
        case make
        /// Report ``timerFired(now:)`` at this time.
        case wake(MonotonicTime)
    }

    private enum Phase {
        /// Nothing new has arrived.
        case resting
        case waiting
        case making
        /// No more previews are made.
        case ended
    }

    /// The minimum pause after a preview found no free slot.
    static let leastPause = Duration.milliseconds(50)

    private let interval: Duration
    private let leastBytes: Int64
    private var phase = Phase.resting
    private var bytes: Int64 = 0
    /// The number of bytes that the last preview was made from.
    private var usedBytes: Int64 = 0
    private var next: MonotonicTime

    init(_ options: ImageRequest.PreviewOptions, now: MonotonicTime) {
        interval = options.interval
        leastBytes = options.minimumBytes
        next = now + options.interval
    }

    var isEnded: Bool { phase == .ended }

    /// The body now has `count` bytes.
    mutating func bytesReceived(_ count: Int64, now: MonotonicTime) -> Action {
        bytes = count
        return phase == .resting ? proceed(now) : .nothing
    }

    /// The time of ``Action/wake(_:)`` was reached.
    mutating func timerFired(now: MonotonicTime) -> Action {
        guard phase == .waiting else { return .nothing }
        phase = .resting
        return proceed(now)
    }

    /// The preview was made, or there was nothing new to show yet.
    ///
    /// - Parameter isFinal: whether no better preview will follow.
    mutating func made(isFinal: Bool, now: MonotonicTime) -> Action {
        guard phase == .making else { return .nothing }
        phase = isFinal ? .ended : .resting
        next = now + interval
        return isFinal ? .nothing : proceed(now)
    }

    /// There is no slot for the preview now.
    mutating func refused(now: MonotonicTime) -> Action {
        guard phase == .making else { return .nothing }
        phase = .resting
        usedBytes = 0
        next = now + max(interval, Self.leastPause)
        return proceed(now)
    }

    /// The body starts over.
    mutating func restarted() {
        bytes = 0
        usedBytes = 0
    }

    mutating func ended() { phase = .ended }

    private mutating func proceed(_ now: MonotonicTime) -> Action {
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
