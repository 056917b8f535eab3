internal import Dispatch

/// A ``WorkArea`` on a serial queue of its own: can be entered later too, so that callers need not wait for long work.
///
/// Cost: about 0.5 µs to enter and leave when nobody else is inside.
public final class WorkQueue: WorkArea {
    public let name: String
    private let queue: DispatchQueue
    /// Where those go out who entered later: they have no thread of their own.
    private let outside: DispatchQueue
    private let mark: QueueMark

    public init(_ name: String) {
        self.name = name
        queue = DispatchQueue(label: name)
        outside = DispatchQueue(label: name + ".out")
        mark = QueueMark.of(queue)
    }

    public var isInside: Bool { mark.isCurrent }

    public func enter<Output, Failure: Error>(
        _ body: (inout WayOut) throws(Failure) -> sending Output
    ) throws(Failure) -> sending Output {
        checkOutside()
        var out = WayOut()
        let result = queue.outcome { () throws(Failure) in try body(&out) }
        out.take()
        return try result.get()
    }

    /// Runs `body` inside, soon, in the order of the calls, and returns at once: from inside as well. The ways out are
    /// taken in their order on another queue of the area.
    public func enterLater(_ body: @escaping @Sendable (inout WayOut) -> Void) {
        queue.async {
            var out = WayOut()
            body(&out)
            out.take(on: self.outside)
        }
    }
}
