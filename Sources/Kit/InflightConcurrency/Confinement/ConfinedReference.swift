/// A reference to a ``Confined`` object that any thread may hold. It gives access only on the object's queue.
///
/// ```swift
/// let player = ConfinedReference(Player(on: .queue(queue)))
/// player.submit { $0.play() }          // from any thread
/// player.object.play()                  // on its queue
/// ```
///
/// - Thread: may be held, passed on and released on any thread. ``object`` traps off the confinement queue.
/// - Order: ``submit(_:)`` keeps the order of the calls, as the queue does.
/// - Release: if the reference is the last one to the object, the object is released on its confinement queue,
///   whichever thread releases the reference.
public final class ConfinedReference<Object: Confined>: @unchecked Sendable {
    // Unchecked: the object is accessed only on its confinement queue. Other access traps.

    /// The callback queue on which the object is used.
    public let confinement: CallbackQueue
    private var held: Object?

    /// Creates a reference. Need not be called on the confinement queue: no other code has the object yet.
    public init(_ object: sending Object) {
        confinement = object.confinement
        held = object
    }

    deinit {
        confinement.release(ConfinedBox(held.take()))
    }

    /// The object. Access off its confinement queue traps.
    public var object: Object {
        confinement.preconditionIsCurrent("\(Object.self)")
        guard let held else { preconditionFailure("the reference was used after its release") }
        return held
    }

    /// Calls `body` on the confinement queue, never inside this call. The object is retained until then.
    public func submit(_ body: @escaping @Sendable (Object) -> Void) {
        confinement.submit { body(self.object) }
    }
}
