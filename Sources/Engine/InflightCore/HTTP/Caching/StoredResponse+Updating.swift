extension StoredResponse {
    /// Returns the response with the fields and times of a newer head of its representation (RFC 9111 section 3.2).
    package func updated(by head: ResponseHead, requestTime: WallTime, responseTime: WallTime) -> StoredResponse {
        var updated = self
        var head = head
        head.fields = StoragePolicy.withoutSecrets(head.fields)
        updated.head.fields = Self.merged(
            self.head.fields, with: head.fields, leaving: StoragePolicy.unstorableFieldNames(head.fields))
        updated.requestTime = requestTime
        updated.responseTime = responseTime
        return updated
    }

    /// Returns the updated fields for the caller, including those that a newer `no-cache="…"` keeps out of the store.
    static func shown(_ stored: HTTPFields, with fields: HTTPFields) -> HTTPFields {
        let names = CacheControl(fields).noCacheFields
        return merged(stored, with: fields, leaving: StoragePolicy.unstorableFieldNames(fields).subtracting(names))
    }

    private static func merged(_ old: HTTPFields, with new: HTTPFields, leaving left: Set<String>) -> HTTPFields {
        // These fields describe the stored bytes, which do not change.
        let ofBytes: Set<String> = ["content-length", "content-encoding", "content-range"]
        let taken = new.filtered { !left.contains($0) && !ofBytes.contains($0) }
        // These two fields describe a single response. The old ones would make the newer response seem old.
        var replaced: Set<String> = ["age", "date"]
        for index in 0..<taken.count { replaced.insert(taken.name(index).lowercased()) }
        var fields = old.filtered { !replaced.contains($0) }
        for index in 0..<taken.count { fields.append(name: taken.rawName(index), value: taken.rawValue(index)) }
        return fields
    }
}
