import InflightConcurrency

/// Events that wait for the listener: bounded, in order, their times never going back.
struct EventBuffer: Sendable {
    struct Batch {
        var events: [PipelineEvent]
        var leftOut: Int
    }

    private let capacity: Int
    private var events: [PipelineEvent] = []
    private var leftOut = 0
    private var latest = MonotonicTime.zero
    /// A batch was handed to the listener's queue, and its return has not been seen.
    private var isHandedOut = false

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    /// What happened first is kept: what fits no more is left out, until the listener has taken what there is.
    ///
    /// - Parameter isPast: whether its time may lie before that of others.
    mutating func append(_ event: PipelineEvent, isPast: Bool = false) {
        var event = event
        if !isPast {
            // Threads ask the clock before they come here: who was first may come last.
            event.time = max(event.time, latest)
            latest = event.time
        }
        // Not before the others: whoever hears of the gap knows where it is.
        guard leftOut == 0, events.count < capacity else {
            leftOut += 1
            return
        }
        events.append(event)
    }

    /// - Returns: whether the listener's queue has to be told that there is something.
    mutating func handsOut() -> Bool {
        guard !isHandedOut, !events.isEmpty else { return false }
        isHandedOut = true
        return true
    }

    mutating func take() -> Batch {
        let batch = Batch(events: events, leftOut: leftOut)
        events = []
        leftOut = 0
        return batch
    }

    /// The listener has returned.
    ///
    /// - Returns: whether there is more.
    mutating func didReturn() -> Bool {
        isHandedOut = false
        return handsOut()
    }

    /// The listener's queue has let go of what it was handed: what waits is handed over with the next event.
    mutating func wasDropped() {
        isHandedOut = false
    }
}
