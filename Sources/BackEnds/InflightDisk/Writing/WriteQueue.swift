internal import InflightCore

/// The writer's queue: a value to be guarded by a lock.
struct WriteQueue {
    private var waiting: [WriteOperation] = []
    /// The number of uses of each entry since the writer's last batch.
    private var touches: [Int64: Int64] = [:]
    private var bytes = 0
    private(set) var isClosed = false
    /// Whether the writer is running and will check the queue again.
    private var isDraining = false

    /// The maximum number of body bytes in the queue, which bounds memory. Beyond it, only an empty queue accepts a
    /// body.
    static let byteLimit = 64 << 20
    /// The number of used entries that justifies a transaction of its own.
    private let touchLimit: Int

    /// - Parameter logReserve: The maximum size of SQLite's log in bytes. A use changes at most three pages of 4 KiB,
    ///   so the uses of one transaction take less than half of it.
    init(logReserve: Int64) {
        touchLimit = Int(logReserve >> 15)
    }

    /// - Returns: Whether the operation was accepted, and whether the writer must be woken for it.
    mutating func add(_ operation: WriteOperation) -> (isTaken: Bool, wakes: Bool) {
        guard !isClosed, operation.bytes == 0 || bytes + operation.bytes <= Self.byteLimit || waiting.isEmpty else {
            return (false, false)
        }
        waiting.append(operation)
        bytes += operation.bytes
        return (true, wake())
    }

    /// - Returns: Whether the writer must be woken.
    mutating func touch(_ id: Int64) -> Bool {
        guard !isClosed else { return false }
        touches[id, default: 0] += 1
        return touches.count >= touchLimit && wake()
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

    /// Returns the next batch: at most `operationLimit`, with bodies of at most `byteLimit` except for the first one's.
    mutating func next(operationLimit: Int, byteLimit: Int) -> Batch? {
        var (count, size) = (0, 0)
        while count < waiting.count, count < operationLimit {
            if waiting[count].needsOwnBatch, count > 0 { break }
            size += waiting[count].bytes
            if count > 0, size > byteLimit { break }
            count += 1
            if waiting[count - 1].needsOwnBatch { break }
        }
        let isWorthIt = touches.count >= touchLimit || isClosed
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
