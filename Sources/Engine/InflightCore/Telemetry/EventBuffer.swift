import InflightConcurrency

/// The events queued for the observer: bounded, in order, with times that never go back.
struct EventBuffer: Sendable {
    struct Batch {
        var events: [ImagePipeline.Event]
        var dropped: Int
    }

    private let capacity: Int
    private var events: [ImagePipeline.Event] = []
    private var dropped = 0
    private var latest = MonotonicTime.zero
    /// Whether a batch was submitted to the observer's queue, and the observer has not returned from it yet.
    private var isDelivering = false

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    /// Appends an event. When the buffer is full, new events are dropped until the observer has taken the queued ones.
    ///
    /// - Parameter isPast: whether the event's time may be before that of earlier events.
    mutating func append(_ event: ImagePipeline.Event, isPast: Bool = false) {
        var event = event
        if !isPast {
            // Threads read the clock before this call, so an event with an earlier time may arrive later.
            event.time = max(event.time, latest)
            latest = event.time
        }
        // After one event was dropped, drop all until the batch is taken, so that the gap is at its end.
        guard dropped == 0, events.count < capacity else {
            dropped += 1
            return
        }
        events.append(event)
    }

    /// - Returns: whether a batch has to be submitted to the observer's queue.
    mutating func beginDelivery() -> Bool {
        guard !isDelivering, !events.isEmpty else { return false }
        isDelivering = true
        return true
    }

    mutating func take() -> Batch {
        let batch = Batch(events: events, dropped: dropped)
        events = []
        dropped = 0
        return batch
    }

    /// The observer has returned.
    ///
    /// - Returns: whether another batch has to be submitted.
    mutating func didReturn() -> Bool {
        isDelivering = false
        return beginDelivery()
    }

    /// The observer's queue has dropped the batch. Queued events are submitted with the next one.
    mutating func wasDropped() {
        isDelivering = false
    }
}
