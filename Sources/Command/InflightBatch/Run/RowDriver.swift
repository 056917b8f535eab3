internal import Dispatch
internal import InflightConcurrency
internal import InflightCore

/// The part of a run that knows the rows: their contents, and what becomes of their images.
protocol RowDriverDelegate: AnyObject, Sendable {
    /// What ``ImageFetcher`` stores of an image.
    associatedtype Value: Sendable

    /// Whether nothing is read or started now. The delegate calls ``RowDriver/schedule()`` when that changes.
    var isBlocked: Bool { get }

    /// Reports the next row to the machine, if it was read. Returns whether to ask again.
    func readRow() throws(BatchFailure) -> Bool
    /// Returns the URL of a row, and the place that it leads to.
    func url(of row: Int) throws(BatchFailure) -> (String, BatchMachine<Int>.Place)
    /// Returns the closure that stores a row's image, on any thread.
    func store(for row: Int) -> @Sendable (Bytes) throws(OutputError) -> Value
    /// A row was fetched. Returns its outcome.
    func rowDidFetch(
        _ row: Int, host: String, _ end: ImageFetcher.End<Value>
    ) throws(BatchFailure) -> RowOutcome<Int>
    /// A row ended without a request.
    func rowDidEnd(_ row: Int, _ outcome: RowOutcome<Int>) throws(BatchFailure)
    func assemble(_ shard: Int, _ rows: Range<Int>, _ outcomes: [AssembledOutcome<Int>]) throws(BatchFailure)
    /// The staged images of a finished shard are not needed any more.
    func discard(_ shard: Int)
    /// Everything that can be done now has been started.
    func driverDidRest() throws(BatchFailure)
    func driverDidFail(_ failure: BatchFailure)
}

/// Performs what ``BatchMachine`` decides: starts requests when hosts are ready, and reports how they end.
///
/// Confined to the run's queue.
// Unchecked: accessed only on `queue`.
final class RowDriver<Delegate: RowDriverDelegate>: @unchecked Sendable {
    private var machine: BatchMachine<Int>
    let fetcher: ImageFetcher
    private let queue: DispatchQueue
    private let clock = SystemClock()
    private let start: MonotonicTime
    private let maximumWaitingBytes: Int
    private weak var delegate: Delegate?
    private var timer: (any ScheduledWork)?
    private var isScheduled = false
    private var isStopped = false
    /// The rows whose images are being fetched, and since when.
    private var fetches: [Int: (host: String, start: Duration)] = [:]

    init(
        _ machine: BatchMachine<Int>, _ fetcher: ImageFetcher, queue: DispatchQueue, maximumWaitingBytes: Int
    ) {
        self.machine = machine
        self.fetcher = fetcher
        self.queue = queue
        self.maximumWaitingBytes = maximumWaitingBytes
        start = clock.now()
    }

    /// The time since the start of the run.
    var now: Duration { clock.now() - start }

    func begin(_ delegate: Delegate) {
        self.delegate = delegate
        schedule()
    }

    /// Starts nothing any more, and cancels what runs.
    func stop() {
        isStopped = true
        machine.stop()
        timer?.cancel()
        fetcher.cancelAll()
    }

    /// Continues soon, once for all events until then.
    func schedule() {
        dispatchPrecondition(condition: .onQueue(queue))
        guard !isScheduled, !isStopped else { return }
        isScheduled = true
        queue.async { [self] in
            isScheduled = false
            guard !isStopped, let delegate else { return }
            attempt { () throws(BatchFailure) in try advance(delegate) }
        }
    }

    /// Reports a fact to the machine, and performs what follows.
    func perform(
        _ fact: (inout BatchMachine<Int>) throws(BatchMachine<Int>.Failure) -> [BatchMachine<Int>.Action]
    ) throws(BatchFailure) {
        guard let delegate else { return }
        let actions: [BatchMachine<Int>.Action]
        do throws(BatchMachine<Int>.Failure) {
            actions = try fact(&machine)
        } catch {
            throw .inconsistent("\(error)")
        }
        for action in actions { try perform(action, delegate) }
    }

    /// Returns the machine's answer to a question. Computed properties would copy the machine, and the next fact then
    /// all rows of its shard.
    func ask<Value>(_ question: (inout BatchMachine<Int>) -> Value) -> Value { question(&machine) }

    /// The requests that have run longest.
    func stragglers(limit: Int) -> [(host: String, duration: Duration)] {
        let now = now
        return fetches.values.sorted { $0.start < $1.start }.prefix(limit).map { ($0.host, now - $0.start) }
    }

    private func attempt(_ body: () throws(BatchFailure) -> Void) {
        do throws(BatchFailure) {
            try body()
        } catch {
            guard !isStopped else { return }
            stop()
            delegate?.driverDidFail(error)
        }
    }

    private func advance(_ delegate: Delegate) throws(BatchFailure) {
        timer?.cancel()
        while !delegate.isBlocked, ask({ $0.wantsRow }), try delegate.readRow() {}
        // Bodies that wait for a thread are not counted by the engine any more.
        while !delegate.isBlocked, fetcher.waitingBytes < maximumWaitingBytes {
            var wakeTime: Duration?
            var isLoading = false
            try perform { (machine) throws(BatchMachine<Int>.Failure) in
                let step = try machine.next(at: now)
                wakeTime = step.wakeTime
                isLoading = step.actions.contains { if case .load = $0 { true } else { false } }
                return step.actions
            }
            guard !isLoading else { continue }
            if let wakeTime {
                timer = clock.schedule(at: start + wakeTime) { [self] in queue.async { [self] in schedule() } }
            }
            break
        }
        try delegate.driverDidRest()
    }

    private func perform(_ action: BatchMachine<Int>.Action, _ delegate: Delegate) throws(BatchFailure) {
        switch action {
        case .fetch(let row): try fetch(row, delegate)
        case .fetchRobots(let authority):
            fetcher.fetchRobots(authority) { [self] outcome in
                resume { (machine, now) throws(BatchMachine<Int>.Failure) in
                    try machine.robotsDidFinish(outcome, authority: authority, at: now)
                }
            }
        case .load(let row):
            let place = try delegate.url(of: row).1
            machine.rowWasLoaded(row, place, at: now)
        case .record(let row, let outcome): try delegate.rowDidEnd(row, outcome)
        case .assemble(let shard, let rows, let outcomes): try delegate.assemble(shard, rows, outcomes)
        case .discard(let shard): delegate.discard(shard)
        }
    }

    private func fetch(_ row: Int, _ delegate: Delegate) throws(BatchFailure) {
        let (url, place) = try delegate.url(of: row)
        fetches[row] = (place.host, now)
        fetcher.fetch(url, row: row, store: delegate.store(for: row)) { [self] end in
            fetches[row] = nil
            guard !isStopped, let delegate = self.delegate else { return }
            attempt { () throws(BatchFailure) in
                let outcome = try delegate.rowDidFetch(row, host: place.host, end)
                try perform { (machine) throws(BatchMachine<Int>.Failure) in
                    try machine.rowDidFinish(row, outcome, pace: end.pace, at: now)
                }
            }
            schedule()
        }
    }

    /// Reports a fact from a callback on the queue.
    private func resume(
        _ fact: (inout BatchMachine<Int>, Duration) throws(BatchMachine<Int>.Failure) -> [BatchMachine<Int>.Action]
    ) {
        guard !isStopped else { return }
        attempt { () throws(BatchFailure) in
            try perform { (machine) throws(BatchMachine<Int>.Failure) in try fact(&machine, now) }
        }
        schedule()
    }
}
