/// The pending events of a gate: a value that owns the rules by which events wait, replace each other or are refused.
/// It does not include the outcome.
///
/// It is changed with a lock held, so it releases no event. It returns the events that it does not keep.
@usableFromInline
package protocol GateBacklog {
    associatedtype Event

    var isEmpty: Bool { get }

    /// An event arrived.
    ///
    /// - Returns: Whether there is something new to pass, and the event that is no longer needed: the replaced event or
    ///   the new one.
    mutating func eventArrived(_ event: Event) -> (wasTaken: Bool, unneeded: Event?)

    /// Removes and returns the next event to pass, or nil if there is none.
    mutating func popFirst() -> Event?

    /// Removes and returns the events that are lost with a dropped delivery: at least the next event to pass.
    mutating func takeDropped() -> Self

    /// Removes and returns all events.
    mutating func takeAll() -> Self
}
