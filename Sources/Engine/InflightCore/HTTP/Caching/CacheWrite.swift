/// One thing that a store does about a response whose body has ended.
enum CacheWrite: Hashable {
    /// An entry's head is replaced.
    case update(StoredEntry.ID, StoredResponse)
    /// All entries under a key go.
    case invalidate(StoreKey)
    /// The body becomes an entry in the place of others, one of which may hold its first part.
    case keep(StoredResponse, replacing: [StoredEntry.ID], part: StoredEntry.ID?)
    /// The body, but for its first bytes, follows what an entry has, whose head is replaced then.
    case extend(StoredEntry.ID, leavingOut: Int, StoredResponse, at: Int64)
    case remove([StoredEntry.ID])
}

/// What there is of a body whose exchange has ended.
struct EndedBody: Hashable {
    /// How many bytes there are.
    var count: Int
    /// How many of them came in the last exchange.
    var receivedBytes: Int64
    /// How many there were, content coding not undone, when a rest was asked for to which no response came.
    var bytesBeforeRest: Int64?
    /// Whether the exchange ended as it should.
    var isWhole: Bool

    /// How many bytes follow what is kept.
    fileprivate func bytes(after incoming: IncomingResponse) -> Int64 {
        bytesBeforeRest.map { $0 - incoming.response.bodyRange.upperBound } ?? receivedBytes
    }
}

extension StoreChanges {
    /// The keys under which everything goes.
    var invalidatedKeys: [StoreKey] {
        invalidated.map { StoreKey($0) }.flatMap { [$0, ProcessedPictures.key($0)] }
    }

    /// What the store does now that the body has ended, in this order.
    ///
    /// - Parameters:
    ///   - part: the entry that holds the first part of the body, where one was kept while the body came.
    ///   - isWorthKeeping: whether this is; asked at most once.
    func writes(
        of body: EndedBody, part: StoredEntry.ID?, isWorthKeeping: (StoredResponse) -> Bool
    ) -> [CacheWrite] {
        var writes = updates.map { CacheWrite.update($0.id, $0.response) } + invalidatedKeys.map(CacheWrite.invalidate)
        var removed = removed
        switch keeping {
        case .nothing: break
        case .new(let incoming, let replaced):
            let stored = incoming.ended(after: body.bytes(after: incoming), isWhole: body.isWhole)
            if let stored, isWorthKeeping(stored) {
                writes.append(.keep(stored, replacing: replaced + [part].compactMap(\.self), part: part))
            } else if body.isWhole, let part {
                // A part that was kept already stays, if its rest could still be asked for.
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
