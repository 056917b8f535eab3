/// One change of the store after the end of a response's body.
enum CacheWrite: Hashable {
    /// Replace the head of an entry.
    case update(StoredEntry.ID, StoredResponse)
    /// Remove all entries under a key.
    case invalidate(StoreKey)
    /// Store the body as an entry in place of others, one of which may hold its first part.
    case keep(StoredResponse, replacing: [StoredEntry.ID], part: StoredEntry.ID?)
    /// Append the body without its first bytes to an entry, then replace the entry's head.
    case extend(StoredEntry.ID, leavingOut: Int, StoredResponse, at: Int64)
    case remove([StoredEntry.ID])
}

/// The extent of a body whose exchange has ended.
struct EndedBody: Hashable {
    /// The number of bytes present.
    var count: Int
    /// The number of bytes received in the last exchange.
    var receivedBytes: Int64
    /// The number of bytes before content decoding, if a range request for the rest got no response.
    var bytesBeforeRest: Int64?
    /// Whether the exchange ended without an error.
    var isWhole: Bool

    /// The number of bytes that follow those already stored.
    fileprivate func bytes(after incoming: IncomingResponse) -> Int64 {
        bytesBeforeRest.map { $0 - incoming.response.bodyRange.upperBound } ?? receivedBytes
    }
}

extension StoreChanges {
    /// The keys whose entries the response invalidates, images included.
    var invalidatedKeys: [StoreKey] {
        invalidated.map { StoreKey($0) }.flatMap { [$0, ProcessedImages.key($0)] }
    }

    /// Returns the changes of the store after the end of the body, in their order.
    ///
    /// - Parameters:
    ///   - body: the extent of the received body.
    ///   - part: the entry that holds the first part of the body, if it was stored while the rest was received.
    ///   - isWorthStoring: returns whether to store a response; called at most once.
    func writes(
        of body: EndedBody, part: StoredEntry.ID?, isWorthStoring: (StoredResponse) -> Bool
    ) -> [CacheWrite] {
        var writes = updates.map { CacheWrite.update($0.id, $0.response) } + invalidatedKeys.map(CacheWrite.invalidate)
        var removed = removed
        switch bodyStorage {
        case .nothing: break
        case .new(let incoming, let replaced):
            let stored = incoming.ended(after: body.bytes(after: incoming), isWhole: body.isWhole)
            if let stored, isWorthStoring(stored) {
                writes.append(.keep(stored, replacing: replaced + [part].compactMap(\.self), part: part))
            } else if body.isWhole, let part {
                // After an error the stored part stays: its rest can still be requested.
                removed.append(part)
            }
        case .extending(let id, let incoming, let leftOut):
            guard leftOut <= Int64(body.count),
                let stored = incoming.ended(after: body.receivedBytes - leftOut, isWhole: body.isWhole)
            else { break }
            writes.append(
                .extend(id, leavingOut: Int(leftOut), stored, at: incoming.response.bodyRange.upperBound))
        }
        if !removed.isEmpty { writes.append(.remove(removed)) }
        return writes
    }
}
