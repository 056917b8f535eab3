/// What has not passed a gate yet, besides the outcome: a value that owns the rules by which events wait, replace each
/// other or are refused.
///
/// It is changed with a lock held, so it releases no event: what it does not keep, it returns.
@usableFromInline
package protocol GateBacklog {
    associatedtype Event

    var isEmpty: Bool { get }

    /// An event arrived.
    ///
    /// - Returns: whether there is something new to pass, and what is not needed any more: what the event replaced, or the
    ///   event itself.
    mutating func eventArrived(_ event: Event) -> (wasTaken: Bool, unneeded: Event?)

    /// Takes what passes next; `nil` where it is empty.
    mutating func popFirst() -> Event?

    /// Takes what is lost with a delivery that the queue dropped: at least what would have passed next.
    mutating func takeDropped() -> Self

    /// Takes all of it.
    mutating func takeAll() -> Self
}
