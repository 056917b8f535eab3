internal import Dispatch

/// The inside of one thread-safe object, or of several that belong together, as a manager and its tasks do.
///
/// Every way in goes through ``enter(_:)``; every way out is put into ``WayOut`` and taken when the area has been left. So
/// the code of others never runs inside, may call back into anything, and may wait.
///
/// ```swift
/// final class Counter: Sendable {
///     private let area: WorkLock
///     private let count: Enclosed<Int>
///     private let onChange: @Sendable (Int) -> Void
///
///     func increment() {
///         area.enter { out in
///             count.value += 1
///             let now = count.value
///             out.afterLeaving { self.onChange(now) }
///         }
///     }
/// }
/// ```
///
/// Two kinds: ``WorkLock``, and ``WorkQueue``, which can be entered later too.
///
/// - Thread: any may enter. What is inside runs one at a time.
/// - Entering from inside would wait for itself: it stops the program at once, in release builds too. So does
///   ``checkInside(file:line:)`` outside, and an ``Enclosed`` value that is touched there.
public protocol WorkArea: AnyObject, Sendable {
    /// What messages call it.
    var name: String { get }

    /// Whether the caller is inside.
    var isInside: Bool { get }

    /// Runs `body` inside, then the ways out that it asked for, in their order, on this thread. Returns after that.
    func enter<Output, Failure: Error>(
        _ body: (inout WayOut) throws(Failure) -> sending Output
    ) throws(Failure) -> sending Output
}

extension WorkArea {
    /// Stops the program unless the caller is inside: for internals.
    public func checkInside(file: StaticString = #fileID, line: UInt = #line) {
        if !isInside { fatalError("\(name): this is to be done inside, after enter(_:)", file: file, line: line) }
    }

    /// Stops the program if the caller is inside: for ways in, and before code of others is called.
    public func checkOutside(file: StaticString = #fileID, line: UInt = #line) {
        if isInside {
            fatalError("\(name): entered from inside, which would wait for itself", file: file, line: line)
        }
    }
}

/// What is to be done when an area has been left.
public struct WayOut: ~Copyable {
    private var steps: [@Sendable () -> Void] = []

    init() {}

    /// Has `step` called outside, after those that were asked for before.
    public mutating func afterLeaving(_ step: @escaping @Sendable () -> Void) {
        steps.append(step)
    }

    consuming func take() {
        for step in steps { step() }
    }

    consuming func take(on queue: DispatchQueue) {
        if steps.isEmpty { return }
        queue.async { [steps] in for step in steps { step() } }
    }
}

/// A value that is touched only inside its area: elsewhere it stops the program, in release builds too.
///
/// Cost: one check for each access, some 20 ns with a ``WorkLock``, some 55 ns with a ``WorkQueue``.
// Unchecked: touched only inside the area, where one is at a time.
public final class Enclosed<Value>: @unchecked Sendable {
    private let area: any WorkArea
    private var stored: Value

    public init(_ value: sending Value, in area: any WorkArea) {
        self.area = area
        stored = value
    }

    public var value: Value {
        get {
            area.checkInside()
            return stored
        }
        _modify {
            area.checkInside()
            yield &stored
        }
    }
}
