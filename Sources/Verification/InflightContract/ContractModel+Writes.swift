public import InflightCore

// The writes that the engine requests from the store. They follow from HTTP's rules alone.

extension ContractModel {
    // MARK: Requests

    /// The engine stores a body.
    ///
    /// - Parameters:
    ///   - delivery: the delivery that its bytes name.
    ///   - version: the version that its bytes name; -1 if they are of several.
    /// - Returns: the number of the call.
    public func stores(
        _ response: StoredResponse, delivery: Int, version: Int, byteCount: Int, under key: String,
        replacing replaced: [Int64]
    ) -> Int {
        store.lastNumber += 1
        guard let copy = store.deliveries[delivery] else {
            report(12, "a body without a response is stored under \(key)")
            return store.lastNumber
        }
        if version != copy.head.version { report(12, "bytes of several versions are stored under \(key)") }
        let index = store.writes.firstIndex { write in
            guard case .keep(_, delivery, _) = write.change, write.number < 0 else { return false }
            return true
        }
        var kept = copy
        kept.end = byteCount
        check(response, kept)
        if copy.key != key { report(12, "a response of \(copy.key) is stored under \(key)") }
        if let index, case .keep(let whole, _, let expected) = store.writes[index].change, whole.end == byteCount {
            let parts = Set(replaced).subtracting(expected)
            if !expected.isSubset(of: replaced) || parts.contains(where: { store.copies[$0]?.isComplete ?? false }) {
                report(12, "a new response replaces \(replaced), expected \(expected.sorted())")
            }
            store.writes[index].number = store.lastNumber
            store.writes[index].change = .keep(whole, delivery: delivery, replacing: Set(replaced))
        } else if !kept.mayBeStored || !kept.isComplete && !kept.head.hasStrongValidator {
            // An interrupted body may be stored only if all its bytes arrived, or if a strong validator allows resuming
            // it.
            report(12, "a response of \(key) is stored although it must not be")
        } else {
            if replaced.contains(where: { store.copies[$0]?.key ?? key != key }) {
                report(12, "a response of \(key) replaces one of another resource")
            }
            store.choices[store.lastNumber] = (kept, replaced)
        }
        return store.lastNumber
    }

    /// The engine updates the metadata of a body.
    public func updates(_ id: Int64, to response: StoredResponse) -> Int {
        store.lastNumber += 1
        let index = store.writes.firstIndex { write in
            guard case .update(let copy) = write.change, write.number < 0 else { return false }
            return copy.id == id && copy.responseTime == response.responseTime.milliseconds
        }
        guard let index, case .update(let copy) = store.writes[index].change else {
            report(12, "copy \(id) is updated without a new response")
            return store.lastNumber
        }
        check(response, copy)
        store.writes[index].number = store.lastNumber
        return store.lastNumber
    }

    /// A decoder has rejected this delivery. Its stored copy is removed, at once or when it is stored.
    func rejects(_ delivery: Int) {
        guard store.rejected.insert(delivery).inserted, let copy = store.deliveries[delivery], copy.id >= 0 else {
            return
        }
        store.lastGroup += 1
        store.writes.append(
            StoreRecord.Write(change: .remove([copy.id]), job: -1, keys: [copy.key], group: store.lastGroup))
    }

    /// The engine removes copies.
    public func removes(_ ids: [Int64]) -> Int {
        store.lastNumber += 1
        let index = store.writes.firstIndex { write in
            guard case .remove(let expected) = write.change, write.number < 0 else { return false }
            return expected.isSubset(of: ids)
        }
        if let index {
            store.writes[index].number = store.lastNumber
        } else if ids.contains(where: { store.copies[$0]?.isComplete ?? false }) {
            report(12, "copies \(ids) are removed although they are usable")
        }
        return store.lastNumber
    }

    /// The engine removes all copies under a key.
    public func removesAll(under key: String) -> Int {
        store.lastNumber += 1
        let index = store.writes.firstIndex { write in
            guard case .removeAll(key) = write.change else { return false }
            return write.number < 0
        }
        if let index {
            store.writes[index].number = store.lastNumber
        } else {
            report(12, "all copies under \(key) are removed without an invalidation")
        }
        return store.lastNumber
    }

    /// Checks that the metadata of a body is that of its response.
    private func check(_ response: StoredResponse, _ copy: StoredCopy) {
        let fields = response.head.fields
        if response.requestTime.milliseconds != copy.requestTime
            || response.responseTime.milliseconds != copy.responseTime
        {
            report(12, "a response of \(copy.key) is stored with wrong times")
        }
        if response.head.status != copy.head.status || fields["etag"] != copy.head.tag
            || fields["cache-control"] ?? "" != copy.head.control
            || (fields["vary"] != nil) != copy.head.variesByCaller
            || fields["age"].map({ Int64($0) ?? -1 }) != copy.head.age
        {
            report(12, "a response of \(copy.key) is stored with wrong header fields")
        }
        if response.varyFields.contains(":credentials") != copy.hasCredentials
            || response.varyFields.contains("x-caller") != (copy.isOfCaller && copy.head.variesByCaller)
        {
            report(12, "a response of \(copy.key) is stored with wrong selecting fields")
        }
        if response.bodyRange != 0..<Int64(copy.end) || response.isComplete != copy.isComplete {
            report(12, "\(response.bodyRange) of a response of \(copy.key) is stored, expected \(copy.end) bytes")
        }
    }

    // MARK: Completion

    /// The store has stored a body.
    public func bodyIsStored(_ number: Int, as id: Int64) {
        if var chosen = store.choices[number] {
            for old in chosen.replaced { store.copies[old] = nil }
            chosen.copy.id = id
            store.copies[id] = chosen.copy
        } else if let index = store.writes.firstIndex(where: { $0.number == number }),
            case .keep(var copy, let delivery, let replaced) = store.writes[index].change
        {
            for old in replaced { store.copies[old] = nil }
            copy.id = id
            store.copies[id] = copy
            store.writes[index].change = .keep(copy, delivery: delivery, replacing: replaced)
        }
    }

    /// The store has updated metadata.
    public func isUpdated(_ number: Int) {
        guard let write = store.writes.first(where: { $0.number == number }), case .update(let copy) = write.change
        else { return }
        store.copies[copy.id] = copy
    }

    /// A copy is gone because it was removed, evicted or damaged.
    public func removesEntry(_ id: Int64) { store.copies[id] = nil }

    /// The store is about to complete a write, successfully or not.
    public func writeEnds(_ number: Int) {
        store.choices[number] = nil
        guard let index = store.writes.firstIndex(where: { $0.number == number }) else { return }
        if case .keep(let copy, let delivery, _) = store.writes[index].change, copy.id >= 0 {
            store.deliveries[delivery]?.id = copy.id
            if store.rejected.contains(delivery) {
                // The next lookup waits for that removal too.
                store.writes[index].change = .remove([copy.id])
                store.writes[index].number = -1
                return
            }
        }
        let job = store.writes.remove(at: index).job
        if job >= 0 { finishIfStored(job) }
    }

    /// A background revalidation ends only after its response is stored.
    func finishIfStored(_ job: Int) {
        guard jobs[job].state == .storing || !isLive(job),
            !store.writes.contains(where: { $0.group == jobs[job].group })
        else {
            return
        }
        guard isLive(job) else {
            let isOver = jobs[job].isStoring && jobs[job].reads == nil
            jobs[job].isStoring = false
            if isOver { exchanges.removeAll { $0.job == job && $0.isHeld } }
            return
        }
        jobs[job].isStoring = false
        if let read = jobs[job].reads {
            jobs[job].state = .reading
            jobs[job].reads = read
        } else {
            exchanges.removeAll { $0.job == job }
            succeeded(job, exchange: jobs[job].exchange)
        }
    }

    /// Checks the writes that the engine has not requested yet.
    func checkWrites() {
        for write in store.writes where write.number < 0 {
            switch write.change {
            case .keep(let copy, _, _): report(12, "a response of \(copy.key) was not stored")
            case .update(let copy): report(12, "copy \(copy.id) of \(copy.key) was not freshened")
            case .remove(let ids): report(12, "copies \(ids.sorted()) were not removed")
            case .removeAll(let key): report(12, "the copies under \(key) were not removed")
            }
        }
    }
}
