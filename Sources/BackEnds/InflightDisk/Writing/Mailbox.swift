internal import InflightCore

/// What waits for the writer: a value, held in a lock.
struct Mailbox {
    private var waiting: [WriteOperation] = []
    /// Entries that were used, and how often since the writer heard of it last.
    private var touches: [Int64: Int64] = [:]
    private var bytes = 0
    private(set) var isClosed = false
    /// The writer is at work, and will look here again.
    private var isDraining = false

    /// Bodies that wait take memory: beyond this nothing more is taken.
    static let byteLimit = 64 << 20
    /// So many uses are worth a transaction of their own.
    static let touchLimit = 256

    /// - Returns: whether it was taken; and whether the writer has to be woken for it.
    mutating func add(_ operation: WriteOperation) -> (isTaken: Bool, wakes: Bool) {
        guard !isClosed, operation.bytes == 0 || bytes + operation.bytes <= Self.byteLimit || waiting.isEmpty else {
            return (false, false)
        }
        waiting.append(operation)
        bytes += operation.bytes
        return (true, wake())
    }

    /// - Returns: whether the writer has to be woken.
    mutating func touch(_ id: Int64) -> Bool {
        guard !isClosed else { return false }
        touches[id, default: 0] += 1
        return touches.count >= Self.touchLimit && wake()
    }

    private mutating func wake() -> Bool {
        defer { isDraining = true }
        return !isDraining
    }

    mutating func close() -> Bool {
        isClosed = true
        return wake()
    }

    struct Batch {
        var operations: [WriteOperation] = []
        var touches: [Int64: Int64] = [:]
    }

    /// What is to be done in one go: at most `mostOperations`, with bodies of at most `byteLimit` but for the first.
    mutating func next(mostOperations: Int, byteLimit: Int) -> Batch? {
        var (count, size) = (0, 0)
        while count < waiting.count, count < mostOperations {
            if waiting[count].isAlone, count > 0 { break }
            size += waiting[count].bytes
            if count > 0, size > byteLimit { break }
            count += 1
            if waiting[count - 1].isAlone { break }
        }
        let isWorthIt = touches.count >= Self.touchLimit || isClosed
        guard count > 0 || (isWorthIt && !touches.isEmpty) else {
            isDraining = false
            return nil
        }
        let batch = Batch(operations: Array(waiting[..<count]), touches: touches)
        waiting.removeFirst(count)
        touches.removeAll(keepingCapacity: true)
        bytes -= batch.operations.reduce(0) { $0 + $1.bytes }
        return batch
    }
}
