import InflightConcurrency

/// What a task has not been told yet, besides its ending, and the rules by which one thing replaces another:
///
/// - Progress never goes back, not after a redirect and not after a second start. It replaces progress that was not told.
/// - A preview is better than all before it, and replaces one that was not shown.
/// - Progress and a preview are told in the order in which the latest of each arrived.
/// - What is stale is told before anything of what follows it: until then, progress that arrives is not told. It is whole,
///   so no preview is shown after it.
struct TaskNews: GateBacklog {
    enum Event {
        case progress(LoadProgress)
        case preview(BoxedPreview)
        case stale(JobResult)
    }

    private var preview: BoxedPreview?
    /// The best that was to be shown; the most there can be where a whole picture was.
    private var bestDetail = 0
    private var reportedBytes: Int64 = -1
    /// Progress, or what is stale.
    private var other: Event?
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
            guard better.preview.detail > bestDetail else { return (false, event) }
            bestDetail = better.preview.detail
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

    mutating func takeDropped() -> TaskNews { takeAll() }

    mutating func takeAll() -> TaskNews {
        defer { (preview, other) = (nil, nil) }
        return self
    }

    /// What arrives from now on is of another picture.
    ///
    /// - Returns: the preview that is not needed any more.
    mutating func fallbackTaken() -> BoxedPreview? {
        // What is whole is better than any part.
        if bestDetail < .max { bestDetail = 0 }
        return preview.take()
    }
}

/// Boxed, so that tasks that wait stay small: one box for all who are shown it.
final class BoxedPreview: Sendable {
    let preview: ImagePreview

    init(_ preview: ImagePreview) {
        self.preview = preview
    }
}
