/// An object that lives on one serial callback queue and is used nowhere else, so that it needs no lock.
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
/// The class is not `Sendable`: Swift's checks keep it where it was made, except by way of ``ConfinedReference`` and
/// ``callback(keepingAlive:_:)``, which look at run time whether they are where it lives.
///
/// - Thread: the confinement alone. Elsewhere ``checkConfinement(file:line:)``, and everything that reaches the object by
///   a reference or a callback, stops the program at once, in release builds too, with a message that names the queue
///   that was expected and the one that was found.
/// - Cost: one ``CallbackQueue/isCurrent`` for each check, about 110 ns on a dispatch queue; a callback costs about 230 ns.
public protocol Confined: AnyObject, SendableMetatype {
    /// The queue where the object is used. It has to be serial: a concurrent one cannot confine anything, and cannot be
    /// told apart. Never changes.
    var confinement: CallbackQueue { get }
}

extension Confined {
    /// Stops the program unless the caller is where the object lives: for the first line of each method.
    public func checkConfinement(file: StaticString = #fileID, line: UInt = #line) {
        confinement.preconditionIsCurrent("\(Self.self)", file: file, line: line)
    }

    /// A closure for the object's own callbacks: it hands `body` the object, and does nothing once that is gone.
    ///
    /// It may be captured and passed on from any thread, and has to be called where the object lives. It does not keep the
    /// object alive unless `keepingAlive`. `body` need not be `Sendable`: it is called and released on the confinement.
    public func callback<each Input>(
        keepingAlive: Bool = false, _ body: @escaping (Self, repeat each Input) -> Void
    ) -> @Sendable (repeat each Input) -> Void {
        let callback = ConfinedCallback(self, keepingAlive: keepingAlive, body)
        return { (input: repeat each Input) in callback.call(repeat each input) }
    }
}

// Unchecked: the object and the body are touched on the confinement alone, which is serial; the check stops others.
private final class ConfinedCallback<Object: Confined, each Input>: @unchecked Sendable {
    private let confinement: CallbackQueue
    private weak var object: Object?
    private var held: Held?

    /// What dies on the confinement.
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

/// Carries what is confined to the place where it is released.
// Unchecked: emptied once, on the confinement, and not looked at otherwise.
package final class ConfinedBox<Content>: Emptying, @unchecked Sendable {
    private var content: Content?

    package init(_ content: consuming Content) {
        self.content = content
    }

    package func empty() {
        content = nil
    }
}
