internal import InflightConcurrency
package import InflightCore

/// The calls of a store in `async` form.
extension ResponseStore {
    /// - Parameter choice: returns the position of the entry whose body is read.
    package func find(
        _ key: StoreKey, choose: @escaping @Sendable ([StoredEntry]) -> Int? = { $0.isEmpty ? nil : 0 }
    ) async -> (found: [StoredEntry], body: StoredBody?) {
        await waiting { done in find(key, choose: choose) { found, body in done((found, body)) } }
    }

    package func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID] = []
    ) async -> StoredEntry.ID? {
        await waiting { done in keep(response, body: body, under: key, replacing: replaced) { done($0) } }
    }

    package func extend(_ id: StoredEntry.ID, by bytes: Bytes, at offset: Int64) async -> Bool {
        await waiting { done in extend(id, by: bytes, at: offset) { done($0) } }
    }

    package func update(_ id: StoredEntry.ID, to response: StoredResponse) async -> Bool {
        await waiting { done in update(id, to: response) { done($0) } }
    }

    package func remove(_ ids: [StoredEntry.ID]) async {
        await waiting { done in remove(ids) { done(()) } }
    }

    package func removeAll(under key: StoreKey) async {
        await waiting { done in removeAll(under: key) { done(()) } }
    }

    private func waiting<Value: Sendable>(_ start: (@escaping @Sendable (Value) -> Void) -> Void) async -> Value {
        let bridge = ValueBridge<Value>()
        start { bridge.open(with: $0) }
        return await bridge.value()
    }
}
