import InflightConcurrency

/// The events of a task that are not delivered yet, besides its ending, and the rules by which one replaces another:
///
/// - Progress never decreases, not even after a redirect or a retry. It replaces undelivered progress.
/// - A preview is better than all before it, and replaces an undelivered one.
/// - Progress and a preview are delivered in the order in which the latest of each arrived.
/// - A stale image is delivered before the progress of its revalidation, and discards progress that arrives before its
///   own delivery. It is complete, so no preview follows it.
struct TaskEventBacklog: GateBacklog {
    // Indirect, so that the many tasks without an event stay small.
    indirect enum Event {
        case progress(ImageTask.Progress)
        case preview(BoxedPreview)
        case stale(JobResult)
    }

    private var preview: BoxedPreview?
    /// Progress, or a stale image.
    private var other: Event?
    private var reportedBytes: Int64 = -1
    /// The detail of the best preview so far; the maximum after a complete image.
    private var bestDetail: Int32 = 0
    /// Whether the preview arrived before the progress.
    private var previewIsFirst = false

    var isEmpty: Bool { preview == nil && other == nil }

    mutating func eventArrived(_ event: Event) -> (wasTaken: Bool, unneeded: Event?) {
        switch event {
        case .progress(let progress):
            guard progress.receivedBytes > reportedBytes else { return (false, event) }
            reportedBytes = progress.receivedBytes
            if case .stale = other { return (false, event) }
            other = event
            previewIsFirst = true
            return (true, nil)
        case .preview(let better):
            let detail = Int32(clamping: better.preview.detail)
            guard detail > bestDetail else { return (false, event) }
            bestDetail = detail
            previewIsFirst = false
            defer { preview = better }
            return (true, preview.map(Event.preview))
        case .stale:
            defer { other = event }
            bestDetail = .max
            if case .stale = other { return (true, other) }
            return (true, preview.take().map(Event.preview))
        }
    }

    mutating func popFirst() -> Event? {
        if case .progress = other, previewIsFirst, let preview = preview.take() { return .preview(preview) }
        return other.take() ?? preview.take().map(Event.preview)
    }

    mutating func takeDropped() -> TaskEventBacklog { takeAll() }

    mutating func takeAll() -> TaskEventBacklog {
        defer { (preview, other) = (nil, nil) }
        return self
    }

    /// The task has switched to a fallback, so later events belong to another image.
    ///
    /// - Returns: the preview to release.
    mutating func fallbackTaken() -> BoxedPreview? {
        // A complete image is better than any preview.
        if bestDetail < .max { bestDetail = 0 }
        return preview.take()
    }
}

/// A preview, boxed so that pending tasks stay small. All subscribers share one box.
final class BoxedPreview: Sendable {
    let preview: ImagePreview

    init(_ preview: ImagePreview) {
        self.preview = preview
    }
}
