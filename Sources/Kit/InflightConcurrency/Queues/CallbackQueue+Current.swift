internal import CInflightConcurrency
internal import Dispatch
internal import Synchronization

extension CallbackQueue {
    /// Whether the caller runs on this queue now, also by way of a queue that targets it.
    ///
    /// - Of the main queue it is true on the main thread too, whoever's loop runs there, and under `dispatchMain()` on
    ///   whatever thread serves the main queue.
    /// - Inside `sync` on another queue it is false: that code belongs to the other queue.
    ///
    /// Any thread. About 110 ns on a dispatch queue; the first call for a queue marks it, which allocates.
    public var isCurrent: Bool {
        switch destination {
        case .dispatch(let queue):
            QueueMark.of(queue).isCurrent
        case .executor(let executor): executor.base.isCurrent
        }
    }

    /// What messages call this queue: the label of a dispatch queue in quotation marks, or the executor's own name.
    public var name: String {
        switch destination {
        case .dispatch(let queue): QueueMark.of(queue) === QueueMark.main ? "the main queue" : Self.quoted(queue.label)
        case .executor(let executor): executor.base.name
        }
    }

    /// What messages call the place where the caller runs: the dispatch queue, and the thread.
    ///
    /// A thread that serves no dispatch queue is told with the label of the default queue, and its own name; executors
    /// that are no dispatch queue cannot be found this way. For messages: it allocates.
    public static var currentName: String {
        if QueueMark.main.isCurrent { return "the main queue" }
        return "\(quoted(unsafe String(cString: inflight_current_queue_label()))) (thread “\(currentThreadName)”)"
    }

    /// Stops the program, in release builds too, unless the caller runs on this queue. The message names the queue that
    /// was expected, and the one that was found.
    ///
    /// - Parameter subject: who is used on the wrong queue; asked for only then.
    ///
    /// Any thread; costs what ``isCurrent`` costs.
    public func preconditionIsCurrent(
        _ subject: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
    ) {
        if isCurrent { return }
        wrongQueue(subject(), file: file, line: line)
    }

    @inline(never)
    private func wrongQueue(_ subject: String, file: StaticString, line: UInt) -> Never {
        // Not a precondition: release builds would leave its message out.
        fatalError(
            "Wrong queue: \(subject) is to be used on \(name) alone, and was used on \(Self.currentName). "
                + "Hand the call over with submit(_:).", file: file, line: line)
    }

    private static func quoted(_ label: String) -> String {
        label.isEmpty ? "a queue without a label" : "the queue “\(label)”"
    }

    private static var currentThreadName: String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { name in
            guard let base = name.baseAddress else { return "" }
            unsafe inflight_current_thread_name(base, 16)
            return unsafe String(cString: base)
        }
    }
}

/// What a dispatch queue is marked with when somebody first asks whether it is current.
///
/// Each queue gets a key of its own: asked with it, dispatch answers for the present queue and all that it targets.
final class QueueMark: Sendable {
    private static let marks = DispatchSpecificKey<QueueMark>()
    private static let marking = Lock()
    // Dispatch does not promise that who finds a mark sees what was written into it before it was set: counting before,
    // and reading the count after, does.
    private static let made = Atomic<Int>(0)
    // The main queue is known by its mark: the object that stands for it is a new one each time.
    static let main = QueueMark.of(.main)

    private let key = DispatchSpecificKey<Bool>()

    static func of(_ queue: DispatchQueue) -> QueueMark {
        if let mark = queue.getSpecific(key: marks) {
            _ = made.load(ordering: .acquiring)
            return mark
        }
        // Two that come at once must not leave two marks.
        return marking.withLock {
            if let mark = queue.getSpecific(key: marks) { return mark }
            let mark = QueueMark()
            made.wrappingAdd(1, ordering: .releasing)
            queue.setSpecific(key: mark.key, value: true)
            queue.setSpecific(key: marks, value: mark)
            return mark
        }
    }

    var isCurrent: Bool {
        DispatchQueue.getSpecific(key: key) != nil || (self === Self.main && inflight_is_main_thread() != 0)
    }
}
