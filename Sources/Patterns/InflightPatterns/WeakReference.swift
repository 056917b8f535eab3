/// A weak reference for closures that must not retain an object. Closures capture it instead of the object, so that
/// nested closures cannot retain the object by mistake either.
///
/// ```swift
/// let me = WeakReference(self)
/// loader.load(url, completion: me.calling(Cell.didLoad))
/// loader.load(url) { image in
///     resize(image) { small in me { $0.show(small) } }
/// }
/// ```
///
/// - Thread: any. The object is retained while `body` runs, and may be released when it returns.
/// - Cost: one weak reference.
public struct WeakReference<Object: AnyObject & Sendable>: Sendable {
    private weak let object: Object?

    /// Creates a reference that does not retain `object`.
    public init(_ object: Object) {
        self.object = object
    }

    /// Calls `body` with the object, if it still exists.
    ///
    /// - Returns: The result of `body`, or nil if the object is gone.
    @discardableResult
    public func callAsFunction<Output>(_ body: (Object) -> Output) -> Output? {
        object.map(body)
    }

    /// Returns a closure that calls a method without retaining the object, and does nothing once the object is gone.
    public func calling<each Input>(
        _ method: @escaping @Sendable (Object) -> (repeat each Input) -> Void
    ) -> @Sendable (repeat each Input) -> Void {
        { [self] (input: repeat each Input) in
            if let object { method(object)(repeat each input) }
        }
    }
}
