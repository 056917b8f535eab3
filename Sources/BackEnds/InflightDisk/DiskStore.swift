internal import InflightConcurrency
public import InflightCore

/// A response cache in a folder. An acknowledged entry survives the death of the process at any instruction, whole,
/// until it is evicted, replaced or removed.
///
/// ```swift
/// let store = DiskStore(.init(folder: "/var/cache/images"))
/// store.keep(response, body: body, under: StoreKey(url), replacing: []) { id in … }
/// store.find(StoreKey(url), choose: { found in found.isEmpty ? nil : 0 }) { found, body in … }
/// await store.shutdown()
/// ```
///
/// SQLite holds the index and small bodies; larger bodies have files beside it. Every body and every row has a checksum
/// that is verified at each read. A damaged entry is a miss, never an error, and is never served. Several processes may
/// share a folder and enforce its limit together. A process that dies blocks no other.
///
/// - Thread: Call from any thread; nothing runs on the caller's thread. At most two threads read, one writes; a hit
///   never waits for a write. Completions are called on these threads and must not block them.
/// - Order: A call sees everything acknowledged before it. Writes run in call order, many of them in one transaction.
/// - Cancellation: none; calls are short.
/// - Bounds: ``Configuration/limit`` for the folder, ``Configuration/logReserve`` for SQLite's log, 64 MiB for bodies
///   queued for writing. A body that would exceed them is not stored.
/// - Errors: none reach the caller. A folder that is missing, full, forbidden, or belongs to another program or a newer
///   version is reported once as an event. Nothing is found or stored until it is usable again, which is tried every
///   second.
/// - Release: Without ``shutdown()``, pending calls still complete. Then files are closed and threads released.
public final class DiskStore: ResponseStore {
    let core: StoreCore

    package var configuration: Configuration { core.configuration }

    /// Creates a store without touching any file. The folder is opened on first use.
    public init(_ configuration: Configuration) {
        core = StoreCore(configuration)
    }

    deinit {
        core.close {}
    }

    /// Finds the entries under `key`, newest first, and reads the body of one, whose checksum is verified.
    ///
    /// A damaged or missing body removes its entry, and is reported as ``Event/entryQuarantined(url:reason:)``. Entries
    /// older than ``Configuration/ageLimit`` are not found.
    ///
    /// - Parameters:
    ///   - key: The key of the entries to find.
    ///   - choose: Called on a reading thread; returns the position of the entry whose body to read, or nil for none.
    ///   - completion: Called on a thread of the store. If the body cannot be read, it gets neither the body nor its
    ///     entry.
    public func find(
        _ key: StoreKey, choose: @escaping @Sendable (_ found: [StoredEntry]) -> Int?,
        completion: @escaping @Sendable (_ found: [StoredEntry], _ body: StoredBody?) -> Void
    ) {
        core.begin {
            FindOperation(core: core, key: key, choose: choose) { [core] found, body in
                completion(found, body)
                core.end()
            }.start()
        } otherwise: {
            completion([], nil)
        }
    }

    /// Stores a response with its body, and removes the entries that it replaces in the same transaction.
    ///
    /// `completion` gets nil if nothing was stored: the body is larger than ``Configuration/bodyLimit``, its length is
    /// not that of the response's body range, too many bytes are queued, or the folder has no room or cannot be used.
    public func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void
    ) {
        keep(.keep(response, body, key, replacing: replaced, andAmong: nil), completion)
    }

    /// Stores a response as ``keep(_:body:under:replacing:completion:)`` does, and removes the entries that `others`
    /// returns in the same transaction, which no other process interrupts. `others` is called on the writing thread.
    public func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        andAmong others: @escaping @Sendable (_ found: [StoredEntry]) -> [StoredEntry.ID]?,
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void
    ) {
        keep(.keep(response, body, key, replacing: replaced, andAmong: others), completion)
    }

    private func keep(_ work: WriteOperation.Work, _ completion: @escaping @Sendable (StoredEntry.ID?) -> Void) {
        write(work) { outcome in
            if case .kept(let id) = outcome { completion(id) } else { completion(nil) }
        }
    }

    /// Appends bytes to an entry's body. `completion` gets `false`, and the entry is unchanged or gone, if its bytes do
    /// not end at `offset`, if the body would exceed its total length or ``Configuration/bodyLimit``, or if the bytes
    /// cannot be written.
    public func extend(
        _ id: StoredEntry.ID, by bytes: Bytes, at offset: Int64, completion: @escaping @Sendable (Bool) -> Void
    ) {
        write(.extend(id, bytes, offset: offset)) { completion($0.isDone) }
    }

    /// Replaces an entry's response, and makes now the date at which it was stored. `completion` gets `false` if the
    /// entry is gone, if the new body range does not have the length of the stored body, or if it cannot be written.
    public func update(
        _ id: StoredEntry.ID, to response: StoredResponse, completion: @escaping @Sendable (Bool) -> Void
    ) {
        write(.update(id, response)) { completion($0.isDone) }
    }

    /// Removes entries with their bodies. Missing entries are ignored. `completion` is also called if the folder cannot
    /// be written.
    public func remove(_ ids: [StoredEntry.ID], completion: @escaping @Sendable () -> Void) {
        write(.remove(ids)) { _ in completion() }
    }

    /// Removes all entries under `key`. `completion` is also called if the folder cannot be written.
    public func removeAll(under key: StoreKey, completion: @escaping @Sendable () -> Void) {
        write(.removeAll(key)) { _ in completion() }
    }

    /// Rejects new calls, and returns when the earlier ones have completed, files are closed and threads are released.
    /// Later calls find nothing and store nothing. Idempotent.
    public func shutdown() async {
        let bridge = Bridge()
        core.close { bridge.open() }
        await bridge.wait()
    }

    private func write(
        _ work: WriteOperation.Work, completion: @escaping @Sendable (WriteOperation.Outcome) -> Void
    ) {
        core.begin {
            core.write(work) { [core] outcome in
                completion(outcome)
                core.end()
            }
        } otherwise: {
            completion(.failed)
        }
    }
}

extension WriteOperation.Outcome {
    var isDone: Bool { if case .done = self { true } else { false } }
}
