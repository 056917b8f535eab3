/// An object for closures that must not keep it alive: what stands in a closure is this, never the object, so that
/// closures inside closures cannot hold it by mistake either.
///
/// ```swift
/// let me = WeakReference(self)
/// loader.load(picture, completion: me.calling(Cell.didLoad))
/// loader.load(picture) { picture in
///     resize(picture) { small in me { $0.show(small) } }
/// }
/// ```
///
/// - Thread: any; the object is held while `body` runs, and may be released where it returns.
/// - Cost: one weak reference.
public struct WeakReference<Object: AnyObject & Sendable>: Sendable {
    private weak let object: Object?

    public init(_ object: Object) {
        self.object = object
    }

    /// Calls `body` with the object, if it is still there.
    @discardableResult
    public func callAsFunction<Output>(_ body: (Object) -> Output) -> Output? {
        object.map(body)
    }

    /// A method as a closure that does not hold the object, and does nothing once that is gone.
    public func calling<each Input>(
        _ method: @escaping @Sendable (Object) -> (repeat each Input) -> Void
    ) -> @Sendable (repeat each Input) -> Void {
        { [self] (input: repeat each Input) in
            if let object { method(object)(repeat each input) }
        }
    }
}
