/// Holds a ``Confined`` object from anywhere, and gives it out only where it lives.
///
/// ```swift
/// let player = ConfinedReference(Player(on: .queue(queue)))
/// player.submit { $0.play() }          // from any thread
/// player.object.play()                  // on its queue
/// ```
///
/// - Thread: may be held, passed on and released everywhere. ``object`` stops the program off the confinement.
/// - Order: ``submit(_:)`` keeps that of the calls, as the queue does.
/// - Release: where the reference is the last that holds the object, the object is released on its confinement, whatever
///   thread lets go of the reference.
// Unchecked: the object is touched on its confinement alone; the check stops everybody else.
public final class ConfinedReference<Object: Confined>: @unchecked Sendable {
    public let confinement: CallbackQueue
    private var held: Object?

    /// May be called where the object was made: nobody else has it yet.
    public init(_ object: sending Object) {
        confinement = object.confinement
        held = object
    }

    deinit {
        confinement.release(ConfinedBox(held.take()))
    }

    /// The object. Only on its confinement: elsewhere the program stops.
    public var object: Object {
        confinement.preconditionIsCurrent("\(Object.self)")
        guard let held else { preconditionFailure("a reference holds its object until it is released") }
        return held
    }

    /// Hands a call over: `body` runs on the confinement, never inside this call. The object is kept alive until then.
    public func submit(_ body: @escaping @Sendable (Object) -> Void) {
        confinement.submit { body(self.object) }
    }
}
