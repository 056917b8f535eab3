/// An object that is used only on one serial callback queue, and so needs no lock.
///
/// ```swift
/// final class Player: Confined {
///     let confinement: CallbackQueue
///     private var position = 0
///
///     init(on queue: CallbackQueue) { confinement = queue }
///
///     func play() {
///         checkConfinement()
///         decoder.start(on: confinement, completion: callback { player, frames in player.position += frames })
///     }
/// }
/// ```
///
/// The class is not `Sendable`: the compiler keeps it in the isolation that created it. The exceptions,
/// ``ConfinedReference`` and ``callback(keepingAlive:_:)``, check the queue at run time.
///
/// - Thread: the confinement queue only. Elsewhere ``checkConfinement(file:line:)``, and every access to the object
///   through a reference or a callback, traps at once, in release builds too, with a message that names the expected
///   queue and the actual one.
/// - Cost: one ``CallbackQueue/isCurrent`` per check, about 110 ns on a dispatch queue. A callback costs about 230 ns.
public protocol Confined: AnyObject, SendableMetatype {
    /// The queue on which the object is used. It never changes, and must be serial: a concurrent queue cannot confine
    /// anything, and cannot be detected.
    var confinement: CallbackQueue { get }
}

extension Confined {
    /// Traps unless the caller runs on the confinement queue. Call it in the first line of each method.
    public func checkConfinement(file: StaticString = #fileID, line: UInt = #line) {
        confinement.preconditionIsCurrent("\(Self.self)", file: file, line: line)
    }

    /// Returns a closure for the object's callbacks. It passes the object to `body`, or does nothing once it is gone.
    ///
    /// Any thread may capture it and pass it on. It must be called on the confinement queue. It retains the object only
    /// if `keepingAlive`. `body` is called and released on that queue, so it need not be `Sendable`.
    public func callback<each Input>(
        keepingAlive: Bool = false, _ body: @escaping (Self, repeat each Input) -> Void
    ) -> @Sendable (repeat each Input) -> Void {
        let callback = ConfinedCallback(self, keepingAlive: keepingAlive, body)
        return { (input: repeat each Input) in callback.call(repeat each input) }
    }
}

// Unchecked: object and body are accessed only on the confinement queue, which is serial. Other access traps.
private final class ConfinedCallback<Object: Confined, each Input>: @unchecked Sendable {
    private let confinement: CallbackQueue
    private weak var object: Object?
    private var held: Held?

    /// The references that are released on the confinement queue.
    private final class Held {
        let object: Object?
        let body: (Object, repeat each Input) -> Void

        init(object: Object?, body: @escaping (Object, repeat each Input) -> Void) {
            self.object = object
            self.body = body
        }
    }

    init(_ object: Object, keepingAlive: Bool, _ body: @escaping (Object, repeat each Input) -> Void) {
        confinement = object.confinement
        self.object = object
        held = Held(object: keepingAlive ? object : nil, body: body)
    }

    deinit {
        confinement.release(ConfinedBox(held.take()))
    }

    func call(_ input: repeat each Input) {
        confinement.preconditionIsCurrent("A callback of \(Object.self)")
        if let object, let held { held.body(object, repeat each input) }
    }
}

/// Carries confined content to the queue on which it is released.
// Unchecked: emptied once, on the confinement queue, and not accessed otherwise.
package final class ConfinedBox<Content>: Emptying, @unchecked Sendable {
    private var content: Content?

    package init(_ content: consuming Content) {
        self.content = content
    }

    package func empty() {
        content = nil
    }
}
