internal import InflightConcurrency
public import InflightCore

/// Keeps answers in a folder: what was acknowledged is there, whole, after the process was killed at any instruction,
/// until it is evicted, replaced or removed.
///
/// ```swift
/// let store = DiskStore(.init(folder: "/var/cache/pictures"))
/// store.keep(response, body: body, under: StoreKey(url), replacing: []) { id in … }
/// store.find(StoreKey(url), choose: { found in found.isEmpty ? nil : 0 }) { found, body in … }
/// await store.shutdown()
/// ```
///
/// SQLite keeps the index and small bodies; larger ones have files beside it. Every body and every row has a checksum,
/// which is looked at whenever it is read: what is damaged is a miss, never an error and never served. Several processes
/// may share a folder, and keep its limit together; one that dies holds up nobody.
///
/// - Thread: any may call; nothing is done on the caller's thread. Two threads read, one writes; a hit never waits for a
///   write. Completions are called on these threads and must not block them.
/// - Order: what was acknowledged before a call is seen by it. Writes are done in the order of asking, many at a time in
///   one transaction.
/// - Cancellation: none; calls are short.
/// - Bounds: ``Configuration/limit`` for the folder, ``Configuration/logReserve`` for SQLite's log, 64 MiB for bodies that
///   wait to be written. What would pass them is not kept.
/// - Errors: none reach the caller. A folder that is gone, full, forbidden, another program's or a newer program's is told
///   once as an event; nothing is found and nothing kept until it can be used again, which is tried every second.
/// - Release: without ``shutdown()`` what was asked for is still done, then files and threads are let go of.
public final class DiskStore: ResponseStore {
    let core: StoreCore

    package var configuration: Configuration { core.configuration }

    /// Touches no file: the folder is opened when it is used first.
    public init(_ configuration: Configuration) {
        core = StoreCore(configuration)
    }

    deinit {
        core.close {}
    }

    public func find(
        _ key: StoreKey, choose: @escaping @Sendable (_ found: [StoredEntry]) -> Int?,
        completion: @escaping @Sendable (_ found: [StoredEntry], _ body: StoredBody?) -> Void
    ) {
        core.begin {
            Finding(core: core, key: key, choose: choose) { [core] found, body in
                completion(found, body)
                core.end()
            }.start()
        } otherwise: {
            completion([], nil)
        }
    }

    public func keep(
        _ response: StoredResponse, body: Bytes, under key: StoreKey, replacing replaced: [StoredEntry.ID],
        completion: @escaping @Sendable (StoredEntry.ID?) -> Void
    ) {
        write(.keep(response, body, key, replacing: replaced)) { outcome in
            if case .kept(let id) = outcome { completion(id) } else { completion(nil) }
        }
    }

    public func extend(
        _ id: StoredEntry.ID, by bytes: Bytes, at offset: Int64, completion: @escaping @Sendable (Bool) -> Void
    ) {
        write(.extend(id, bytes, offset: offset)) { completion($0.isDone) }
    }

    public func update(
        _ id: StoredEntry.ID, to response: StoredResponse, completion: @escaping @Sendable (Bool) -> Void
    ) {
        write(.update(id, response)) { completion($0.isDone) }
    }

    public func remove(_ ids: [StoredEntry.ID], completion: @escaping @Sendable () -> Void) {
        write(.remove(ids)) { _ in completion() }
    }

    public func removeAll(under key: StoreKey, completion: @escaping @Sendable () -> Void) {
        write(.removeAll(key)) { _ in completion() }
    }

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
