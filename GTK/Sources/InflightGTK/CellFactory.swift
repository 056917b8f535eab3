internal import CInflightGTK

/// A `GtkSignalListItemFactory` whose cells are created and filled by closures, for `GtkGridView` and `GtkListView`.
///
/// - Thread: the main thread.
/// - Release: the closures are released with the factory.
@safe @MainActor
public struct CellFactory {
    /// The `GtkListItemFactory`. The caller owns this reference.
    public let pointer: OpaquePointer

    /// Creates a factory. Each closure gets the `GtkListItem`.
    ///
    /// - Parameters:
    ///   - setup: creates the cell's widget, and sets it as the child of the `GtkListItem`.
    ///   - bind: fills the cell for its current item.
    ///   - unbind: clears the cell.
    public init(
        setup: @escaping @MainActor (OpaquePointer) -> Void, bind: @escaping @MainActor (OpaquePointer) -> Void,
        unbind: @escaping @MainActor (OpaquePointer) -> Void
    ) {
        unsafe pointer = gtk_signal_list_item_factory_new()!
        let handlers = unsafe [Handler(setup), Handler(bind), Handler(unbind)]
        for (signal, handler) in zip(["setup", "bind", "unbind"], handlers) {
            let handler = unsafe Unmanaged.passRetained(handler).toOpaque()
            unsafe inflight_connect_item(
                pointer, signal,
                { item, data in
                    let body = unsafe Unmanaged<Handler>.fromOpaque(data).takeUnretainedValue().body
                    // The pointer is used only in this call.
                    nonisolated(unsafe) let item = unsafe item
                    MainActor.assumeIsolated { unsafe body(item) }
                }, handler, { unsafe Unmanaged<Handler>.fromOpaque($0).release() })
        }
    }

    @safe private final class Handler {
        let body: @MainActor (OpaquePointer) -> Void
        init(_ body: @escaping @MainActor (OpaquePointer) -> Void) {
            unsafe self.body = body
        }
    }
}
