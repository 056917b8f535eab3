internal import Dispatch
internal import InflightConcurrency
internal import InflightCore

/// Reads the inputs on a thread of its own, a bounded number of rows ahead of the run.
///
/// Reading may block: the input may be a pipe. Rows are parsed on that thread, too, and get their digests if the run
/// compares them.
final class InputFeed: Sendable {
    /// What was read.
    enum Item: Sendable {
        /// A row, with its digest, 0 in a feed without, and the place that its URL leads to; without one, why there is
        /// none.
        case row(InputRow, source: Int, digest: UInt32, Result<RowPlace, LoadError>)
        case reject(InputReject, source: Int, digest: UInt32)
        case ended
        case failed(BatchFailure)
    }

    /// The number of rows that are read ahead.
    private static let limit = 512

    private struct State {
        var items: [Item] = []
        var estimatedRowCount: Int?
        var consumerWaits = false
        var producerWaits = false
        var isStopped = false
    }

    private let thread = WorkerThreads(count: 1, name: "inflight-input")
    private let state = Guarded(State())
    private let room = DispatchSemaphore(value: 0)
    private let queue: DispatchQueue
    private let hasDigests: Bool
    private let onItems: @Sendable () -> Void

    /// Creates a feed that has not begun to read.
    ///
    /// - Parameters:
    ///   - queue: The queue of `onItems`.
    ///   - hasDigests: Whether rows have digests.
    ///   - onItems: Called when there are items again after ``take()`` returned none.
    init(queue: DispatchQueue, hasDigests: Bool, onItems: @escaping @Sendable () -> Void) {
        self.queue = queue
        self.hasDigests = hasDigests
        self.onItems = onItems
    }

    /// Begins to read.
    ///
    /// - Parameters are those of ``InputReader``.
    func start(
        _ sources: [InputSource], options: InputOptions, standardInput: Int32 = 0, keptCopy: String? = nil
    ) {
        thread.run { [self] in
            let reader = InputReader(
                sources, options: options, standardInput: standardInput, keptCopy: keptCopy)
            while true {
                let item: Item
                do throws(BatchFailure) {
                    item = try reader.next().map(self.item) ?? .ended
                } catch {
                    item = .failed(error)
                }
                guard add(item, reader.estimatedRowCount) else { return }
                switch item {
                case .ended, .failed: return
                case .row, .reject: break
                }
            }
        }
    }

    /// The estimate of ``InputReader/estimatedRowCount`` for the rows that were read.
    var estimatedRowCount: Int? { state.withLock(\.estimatedRowCount) }

    /// Returns the items that were read, none if the run has to wait for `onItems`.
    func take() -> [Item] {
        let (items, wakes) = state.withLock { state in
            let items = state.items
            state.items = []
            state.consumerWaits = items.isEmpty
            defer { state.producerWaits = false }
            return (items, state.producerWaits)
        }
        if wakes { room.signal() }
        return items
    }

    /// Ends the reading. A thread that waits for input ends when the process does.
    func stop() {
        let wakes = state.withLock { state in
            state.isStopped = true
            defer { state.producerWaits = false }
            return state.producerWaits
        }
        if wakes { room.signal() }
    }

    /// - Returns: Whether to read on.
    private func add(_ item: Item, _ estimatedRowCount: Int?) -> Bool {
        let (wakes, waits) = state.withLock { state in
            if state.isStopped { return (false, false) }
            state.items.append(item)
            state.estimatedRowCount = estimatedRowCount
            defer { state.consumerWaits = false }
            state.producerWaits = state.items.count >= Self.limit
            return (state.consumerWaits, state.producerWaits)
        }
        if wakes { queue.async(execute: onItems) }
        if waits { room.wait() }
        return !state.withLock(\.isStopped)
    }

    private func item(_ entry: InputReader.Entry) -> Item {
        let digest = hasDigests ? entry.result.digest : 0
        switch entry.result {
        case .row(let row):
            let place = Result { () throws(LoadError) in try RowPlace(row) }
            return .row(row, source: entry.source, digest: digest, place)
        case .reject(let reject): return .reject(reject, source: entry.source, digest: digest)
        }
    }
}
