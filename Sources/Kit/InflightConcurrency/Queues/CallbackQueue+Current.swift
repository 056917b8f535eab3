internal import CInflightConcurrency
internal import Dispatch
internal import Synchronization

extension CallbackQueue {
    /// Whether the caller runs on this queue now, or on a queue that targets it.
    ///
    /// - For the main queue it is also true on the main thread, whichever event loop runs there, and under
    ///   `dispatchMain()` on whatever thread serves the main queue.
    /// - For another queue it is false inside `sync` on a different one, to which that code belongs.
    ///
    /// Any thread. About 110 ns on a dispatch queue; the first call for a queue marks it, which allocates.
    public var isCurrent: Bool {
        switch destination {
        case .dispatch(let queue):
            QueueMark.of(queue).isCurrent
        case .executor(let executor): executor.base.isCurrent
        }
    }

    /// The name of this queue in messages: the quoted label of a dispatch queue, or the executor's own name.
    public var name: String {
        switch destination {
        case .dispatch(let queue): QueueMark.of(queue) === QueueMark.main ? "the main queue" : Self.quoted(queue.label)
        case .executor(let executor): executor.base.name
        }
    }

    /// The dispatch queue and the thread that the caller runs on, for messages.
    ///
    /// A thread that serves no dispatch queue is reported with the label of the default queue and its own name.
    /// Executors other than dispatch queues cannot be detected. Allocates.
    public static var currentName: String {
        if QueueMark.main.isCurrent { return "the main queue" }
        return "\(quoted(unsafe String(cString: inflight_current_queue_label()))) (thread “\(currentThreadName)”)"
    }

    /// Traps, in release builds too, unless the caller runs on this queue. The message names the expected queue and the
    /// actual one.
    ///
    /// - Parameters:
    ///   - subject: The object that was used on the wrong queue; evaluated only then.
    ///   - file: The file named in the message.
    ///   - line: The line named in the message.
    ///
    /// Any thread. Costs the same as ``isCurrent``.
    public func preconditionIsCurrent(
        _ subject: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
    ) {
        if isCurrent { return }
        wrongQueue(subject(), file: file, line: line)
    }

    @inline(never)
    private func wrongQueue(_ subject: String, file: StaticString, line: UInt) -> Never {
        // Not a precondition, because release builds would omit its message.
        fatalError(
            "Wrong queue: \(subject) must be used on \(name), but was used on \(Self.currentName). "
                + "Use submit(_:) to call it there.", file: file, line: line)
    }

    private static func quoted(_ label: String) -> String {
        label.isEmpty ? "an unlabelled queue" : "the queue “\(label)”"
    }

    private static var currentThreadName: String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { name in
            guard let base = name.baseAddress else { return "" }
            unsafe inflight_current_thread_name(base, 16)
            return unsafe String(cString: base)
        }
    }
}

/// The mark that a dispatch queue gets when it is first checked for being current.
///
/// Each queue gets its own key. A lookup of that key searches the current queue and all queues that it targets.
final class QueueMark: Sendable {
    private static let marks = DispatchSpecificKey<QueueMark>()
    private static let marking = Lock()
    // Dispatch does not guarantee that a thread that finds a mark sees the writes that preceded it. Incrementing `made`
    // before, and loading it after, guarantees that.
    private static let made = Atomic<Int>(0)
    // The main queue is identified by its mark, because each access to `.main` returns a new object.
    static let main = QueueMark.of(.main)

    private let key = DispatchSpecificKey<Bool>()

    static func of(_ queue: DispatchQueue) -> QueueMark {
        if let mark = queue.getSpecific(key: marks) {
            _ = made.load(ordering: .acquiring)
            return mark
        }
        // Two concurrent callers must not leave two marks.
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
