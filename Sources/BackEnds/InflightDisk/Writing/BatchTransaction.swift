internal import InflightConcurrency
internal import InflightCore
internal import InflightFiles
internal import InflightSQLite

/// Runs a batch: determines the files and the space that its operations need, frees that space, writes the files, and
/// then applies everything in one transaction.
// Confined to the writer's thread.
final class BatchTransaction {
    let writer: Writer
    let cache: OpenCache
    private let operations: [WriteOperation]
    private let touches: [Int64: Int64]
    private var outcomes: [WriteOperation.Outcome?]
    /// The planned changes by operation index, for operations with a file or a growing body.
    private var plans: [Int: Plan] = [:]
    private var need = Evictor.Need()
    /// Whether a file could not be written.
    private(set) var hadTrouble = false

    /// The preparation of a body before its row is written.
    private enum Plan {
        /// A new file that holds a whole new body.
        case file(PlannedFile, sum: UInt64)
        /// A body that grows and stays in the index.
        case grow(from: EntryRow, body: Bytes)
        /// A body that outgrows the index and moves into a file.
        case move(from: EntryRow, PlannedFile, sum: XXH64, pieces: [Bytes])
        /// A body that grows in its file.
        case extend(from: EntryRow, sum: XXH64)

        var hasFile: Bool { if case .grow = self { false } else { true } }
    }

    init(writer: Writer, cache: OpenCache, batch: WriteQueue.Batch) {
        self.writer = writer
        self.cache = cache
        operations = batch.operations
        touches = batch.touches
        outcomes = Array(repeating: nil, count: operations.count)
    }

    private var configuration: DiskStore.Configuration { writer.configuration }
    private var now: WallTime { WallTime(secondsSince1970: configuration.clock.secondsSince1970()) }

    func run() throws(StoreFailure) -> [WriteOperation.Outcome] {
        for index in operations.indices { try plan(index) }
        let room = Evictor(writer: writer, cache: cache, pinned: pinned)
        var failedFiles: [Int64] = []
        var files: [Int64]?
        if plans.values.allSatisfy({ !$0.hasFile }) {
            // Usually there is enough space, and one transaction suffices.
            do throws(StoreFailure) {
                files = try commit(onlyIn: room)
            } catch {
                guard case .outOfSpace = error else { throw error }
            }
        }
        if files == nil {
            if try !room.freeSpace(for: need) {
                // In a batch of several operations, some may still fit on their own.
                if operations.count > 1 { throw .database(.full) }
                return outcomes.map { $0 ?? .failed }
            }
            for index in operations.indices where outcomes[index] == nil { writeFile(index, &failedFiles) }
            files = try commit()
        }
        writer.remove((files ?? []) + failedFiles)
        tellQuarantined()
        return outcomes.map { $0 ?? .failed }
    }

    private var pinned: Set<Int64> {
        var ids: Set<Int64> = []
        for operation in operations {
            switch operation.work {
            case .extend(let id, _, _), .update(let id, _): ids.insert(id.rawValue)
            case .keep(_, _, _, let replaced, _): ids.formUnion(replaced.map(\.rawValue))
            default: break
            }
        }
        return ids
    }

    // MARK: Planning

    private func plan(_ index: Int) throws(StoreFailure) {
        switch operations[index].work {
        case .keep(let response, let body, let key, _, _):
            guard body.count == response.bodyRange.count, Int64(body.count) <= configuration.bodyLimit,
                let size = EntryRecord.size(key: key, response)
            else {
                outcomes[index] = .failed
                return
            }
            need.pages += Evictor.Need.pages(for: size)
            if body.count > configuration.inlineLimit {
                let file = newFile(room: Int64(body.count))
                plans[index] = .file(file, sum: 0)
                need.files.append(file)
            } else {
                need.pages += Evictor.Need.pages(for: body.count)
            }
        case .extend(let id, let bytes, let offset):
            if let plan = try planned(id, bytes, offset) {
                plans[index] = plan
            } else {
                outcomes[index] = .failed
            }
        case .update(_, let response):
            need.pages += Evictor.Need.pages(for: EntryRecord.size(key: StoreKey(""), response) ?? 0)
        default: break
        }
    }

    private func newFile(room: Int64) -> PlannedFile {
        var random = SystemRandomNumberGenerator()
        return PlannedFile(file: Int64.random(in: 1...(.max), using: &random), room: room)
    }

    private func planned(
        _ id: StoredEntry.ID, _ bytes: Bytes, _ offset: Int64
    ) throws(StoreFailure) -> Plan? {
        let row = try inDatabase(EntryRow.find(id.rawValue, in: cache.database))
        guard let row, let record = row.checked(identity: cache.identity),
            offset == record.response.bodyRange.upperBound,
            Int64(bytes.count) <= configuration.bodyLimit - row.length,
            record.response.totalLength.map({ offset + Int64(bytes.count) <= $0 }) ?? true
        else { return nil }
        let length = row.length + Int64(bytes.count)
        need.pages += Evictor.Need.pages(for: row.record.count + 16)
        if row.isInFile {
            guard let sum = try sumSoFar(row) else { return nil }
            if length > row.room {
                need.growing.append((row.id, length))
                need.growth += length - row.room
            }
            return .extend(from: row, sum: sum)
        }
        let body = try inDatabase(
            StoredBodies.read(row, identity: cache.identity, in: cache.database))
        guard let body else { return nil }
        if length <= Int64(configuration.inlineLimit) {
            need.pages += Evictor.Need.pages(for: Int(length))
            return .grow(from: row, body: Bytes(body.array + bytes.array))
        }
        let file = newFile(room: length)
        need.files.append(file)
        var sum = XXH64(seed: cache.identity)
        for piece in [body, bytes] { unsafe piece.withUnsafeBytes { unsafe sum.add($0) } }
        return .move(from: row, file, sum: sum, pieces: [body, bytes])
    }

    /// Returns the checksum state of a file's body, ready to be extended, or nil if the file is damaged.
    private func sumSoFar(_ row: EntryRow) throws(StoreFailure) -> XXH64? {
        if let known = writer.sums.sum(row.id, length: row.length) { return known }
        guard let read = (try? writer.bodies.read(row.file, length: row.length, seed: cache.identity)) ?? nil,
            read.sum == row.sum
        else { return nil }
        var sum = XXH64(seed: cache.identity)
        unsafe read.bytes.withUnsafeBytes { unsafe sum.add($0) }
        return sum
    }

    // MARK: Files

    private func writeFile(_ index: Int, _ failed: inout [Int64]) {
        do {
            switch (operations[index].work, plans[index]) {
            case (.keep(_, let body, _, _, _), .file(let file, _)):
                let sum = unsafe body.withUnsafeBytes { unsafe XXH64.of($0, seed: cache.identity) }
                plans[index] = .file(file, sum: sum)
                try writer.bodies.write(file.file, [body])
            case (.extend, .move(_, let file, _, let pieces)):
                try writer.bodies.write(file.file, pieces)
            case (.extend(_, let bytes, _), .extend(let row, var sum)):
                try writer.bodies.extend(row.file, at: row.length, by: bytes)
                unsafe bytes.withUnsafeBytes { unsafe sum.add($0) }
                plans[index] = .extend(from: row, sum: sum)
            default: break
            }
        } catch {
            switch plans[index] {
            case .file(let file, _), .move(_, let file, _, _): failed.append(file.file)
            default: break
            }
            outcomes[index] = .failed
            // Another store has evicted the entry and removed its file.
            if case .extend? = plans[index], error == .isMissing { return }
            hadTrouble = true
            writer.note(.file(error, "bodies"), bytes: operations[index].bytes)
        }
    }

    // MARK: The transaction

    /// - Parameter room: If given and there is not enough space, nothing changes and the failure is `outOfSpace`.
    /// - Returns: The files that no row names any longer.
    private func commit(onlyIn room: Evictor? = nil) throws(StoreFailure) -> [Int64] {
        let before = outcomes
        do {
            return try writer.transaction(cache) { (state) throws(StoreFailure) in
                let usage = try cache.usage()
                if let room, !room.hasRoom(need, usage, state) { throw StoreFailure.outOfSpace }
                try cache.limitPages(max(usage.pages, (configuration.dataLimit - state.fileBytes) / Layout.pageBytes))
                var files: [Int64] = []
                for (index, operation) in operations.enumerated() where outcomes[index] == nil {
                    outcomes[index] = try apply(operation.work, index, &state, &files)
                }
                try applyTouches(state)
                return files
            }
        } catch {
            outcomes = before
            // Only the rows of this batch would have named these files.
            let files = plans.values.compactMap { plan in
                switch plan {
                case .file(let file, _), .move(_, let file, _, _): file.file
                default: nil
                }
            }
            writer.remove(files)
            throw error
        }
    }

    private func apply(
        _ work: WriteOperation.Work, _ index: Int, _ state: inout IndexState, _ files: inout [Int64]
    ) throws(StoreFailure) -> WriteOperation.Outcome {
        switch work {
        case .keep(let response, let body, let key, let replaced, let choose):
            guard let choose else { return try keep(response, body, key, replaced, index, &state, &files) }
            guard let others = try choose(entries(under: key)) else {
                if case .file(let planned, _)? = plans[index] { files.append(planned.file) }
                return .failed
            }
            return try keep(response, body, key, replaced + others, index, &state, &files)
        case .extend(let id, let bytes, _):
            return try extend(id, bytes, index, &state, &files)
        case .update(let id, let response):
            return try update(id, response, &state)
        case .remove(let ids):
            for id in ids { try remove(id.rawValue, &state, &files) }
            return .done
        case .removeAll(let key):
            return try removeAll(key, &state, &files)
        case .quarantine(let id, let seal, _, _):
            let row = try inDatabase(EntryRow.find(id.rawValue, in: cache.database))
            guard let row, row.seal == seal else { return .failed }
            if let file = try cache.removeEntry(row, &state) { files.append(file) }
            return .done
        case .compact: return try compact()
        case .open, .replaceIfDamaged, .sweep: return .done
        }
    }

    private func compact() throws(StoreFailure) -> WriteOperation.Outcome {
        guard try cache.usage().freePages > 0 else { return .failed }
        try inDatabase(
            cache.database.run("PRAGMA incremental_vacuum(\(configuration.maximumCutPages))"))
        return .done
    }

    private func remove(_ id: Int64, _ state: inout IndexState, _ files: inout [Int64]) throws(StoreFailure) {
        let row = try inDatabase(EntryRow.find(id, in: cache.database))
        guard let row else { return }
        writer.sums.forget(id)
        if let file = try cache.removeEntry(row, &state) { files.append(file) }
    }

    private func removeAll(
        _ key: StoreKey, _ state: inout IndexState, _ files: inout [Int64]
    ) throws(StoreFailure) -> WriteOperation.Outcome {
        while true {
            // Keep entries of another key with the same hash. Remove unreadable rows, since their key is unknown.
            let ours = try inDatabase(EntryRow.all(key, identity: cache.identity, in: cache.database)).filter {
                $0.checked(identity: cache.identity).map { $0.key == key } ?? true
            }
            if ours.isEmpty { return .done }
            for row in ours { if let file = try cache.removeEntry(row, &state) { files.append(file) } }
        }
    }

    private func entries(under key: StoreKey) throws(StoreFailure) -> [StoredEntry] {
        try inDatabase(EntryRow.all(key, identity: cache.identity, in: cache.database)).compactMap { row in
            guard let record = row.checked(identity: cache.identity), record.key == key else { return nil }
            return StoredEntry(id: StoredEntry.ID(rawValue: row.id), response: record.response)
        }
    }

    private func keep(
        _ response: StoredResponse, _ body: Bytes, _ key: StoreKey, _ replaced: [StoredEntry.ID], _ index: Int,
        _ state: inout IndexState, _ files: inout [Int64]
    ) throws(StoreFailure) -> WriteOperation.Outcome {
        let record = EntryRecord(key: key, stored: now, response: response)
        let id = state.next
        let sum: UInt64
        var (file, room): (Int64, Int64) = (0, 0)
        if case .file(let planned, let sumOfFile)? = plans[index] {
            // The plan is gone if the index was replaced meanwhile. Then nothing else counts the file.
            guard try cache.forget(planned.file, &state) else {
                files.append(planned.file)
                return .failed
            }
            (file, room, sum) = (planned.file, planned.room, sumOfFile)
        } else {
            sum = unsafe body.withUnsafeBytes { unsafe XXH64.of($0, seed: cache.identity) }
            try insert(body, id)
        }
        for old in replaced { try remove(old.rawValue, &state, &files) }
        let row = EntryRow(
            id: id, rank: EvictionRank.of(isComplete: response.isComplete, age: state.age, uses: 1), room: room,
            file: file,
            length: Int64(body.count), sum: sum, record: record, identity: cache.identity)
        try inDatabase(row.insert(cache.database))
        state.next += 1
        state.count(row, record, by: 1)
        return .kept(StoredEntry.ID(rawValue: id))
    }

    private func insert(_ body: Bytes, _ id: Int64) throws(StoreFailure) {
        try inDatabase(
            unsafe body.withUnsafeBytes { (memory) throws(DatabaseError) in
                let bytes = unsafe Value.Memory(memory)
                try cache.database.change(
                    "INSERT OR REPLACE INTO body (id, bytes) VALUES (?, ?)", .number(id), .memory(bytes))
            })
    }

    private func extend(
        _ id: StoredEntry.ID, _ bytes: Bytes, _ index: Int, _ state: inout IndexState, _ files: inout [Int64]
    ) throws(StoreFailure) -> WriteOperation.Outcome {
        let found = try inDatabase(EntryRow.find(id.rawValue, in: cache.database))
        guard let plan = plans[index] else { return .failed }
        guard var row = found, var record = row.checked(identity: cache.identity), isSame(row, plan) else {
            // The entry has changed since the plan was made. The file written for it is removed.
            if case .move(_, let file, _, _) = plan { files.append(file.file) }
            return .failed
        }
        let before = (row, record)
        record.response.bodyRange =
            record.response.bodyRange
            .lowerBound..<(record.response.bodyRange.upperBound
            + Int64(bytes.count))
        let length = row.length + Int64(bytes.count)
        switch plan {
        case .grow(_, let body):
            row.sum = unsafe body.withUnsafeBytes { unsafe XXH64.of($0, seed: cache.identity) }
            try insert(body, row.id)
        case .move(_, let file, let sum, _):
            guard try cache.forget(file.file, &state) else {
                files.append(file.file)
                return .failed
            }
            try inDatabase(
                cache.database.change("DELETE FROM body WHERE id = ?", .number(row.id)))
            (row.file, row.room, row.sum) = (file.file, file.room, sum.value)
            state.fileBytes += file.room
            state.files += 1
            writer.sums.set(row.id, length: length, sum)
        case .extend(_, let sum):
            row.sum = sum.value
            writer.sums.set(row.id, length: length, sum)
        case .file: return .failed
        }
        row.length = length
        state.bodyBytes += Int64(bytes.count)
        try write(record, to: &row, before: before.1, &state)
        return .done
    }

    private func isSame(_ row: EntryRow, _ plan: Plan) -> Bool {
        switch plan {
        case .grow(let planned, _), .move(let planned, _, _, _), .extend(let planned, _):
            row.file == planned.file && row.length == planned.length && row.sum == planned.sum
        case .file: false
        }
    }

    private func update(
        _ id: StoredEntry.ID, _ response: StoredResponse, _ state: inout IndexState
    ) throws(StoreFailure) -> WriteOperation.Outcome {
        let found = try inDatabase(EntryRow.find(id.rawValue, in: cache.database))
        guard var row = found, let before = row.checked(identity: cache.identity),
            response.bodyRange.count == before.response.bodyRange.count,
            EntryRecord.size(key: before.key, response) != nil
        else { return .failed }
        try write(EntryRecord(key: before.key, stored: now, response: response), to: &row, before: before, &state)
        return .done
    }

    /// Writes a row after a change of its record.
    private func write(
        _ record: EntryRecord, to row: inout EntryRow, before: EntryRecord, _ state: inout IndexState
    ) throws(StoreFailure) {
        let (was, isComplete) = (before.response.isComplete, record.response.isComplete)
        var rank = row.rank
        // Another store may have considered the writer of this body dead, and released its reserved space.
        var room = row.isInFile ? max(row.room, row.length) : row.room
        if was != isComplete {
            state.partial = max(0, state.partial + (isComplete ? -1 : 1))
            rank = EvictionRank.of(isComplete: isComplete, age: state.age, uses: row.uses)
            if isComplete {
                writer.sums.forget(row.id)
                // The body no longer grows, so the space reserved for its growth is released.
                let size = (try? configuration.fileSystem.status(writer.paths.body(row.file)))?.size
                if row.isInFile, let size, size >= row.length { room = min(room, size) }
            }
        }
        state.fileBytes = max(0, state.fileBytes + room - row.room)
        row = EntryRow(
            id: row.id, rank: rank, uses: row.uses, room: room, file: row.file, length: row.length, sum: row.sum,
            record: record, identity: cache.identity)
        try inDatabase(row.update(cache.database))
    }

    private func applyTouches(_ state: IndexState) throws(StoreFailure) {
        for (id, count) in touches.sorted(by: { $0.key < $1.key }) {
            try inDatabase(
                cache.database.change(
                    """
                    UPDATE entry SET uses = min(uses + ?1, ?2), rank = ?3 + min(uses + ?1, ?2)
                    WHERE id = ?4 AND rank >= 0 AND (uses < ?2 OR rank < ?3 + ?2)
                    """, .number(count), .number(EvictionRank.maximumUses), .number(state.age), .number(id)))
        }
    }

    private func tellQuarantined() {
        for (operation, outcome) in zip(operations, outcomes) {
            if case .quarantine(_, _, let url, let reason) = operation.work, case .done? = outcome {
                configuration.onEvent?(.entryQuarantined(url: url, reason: reason))
            }
        }
    }
}

extension DatabaseError {
    /// The error that SQLite reports when a limit is reached.
    static let full = DatabaseError(code: 13, text: "the cache has reached its limit")
}
