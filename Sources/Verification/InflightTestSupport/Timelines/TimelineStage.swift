internal import InflightConcurrency
internal import InflightCore

/// The pipeline, the callers and the exchanges of one timeline.
// Unchecked: everything happens on the thread that plays. Decodes would too, but there are none.
final class TimelineStage: Transport, @unchecked Sendable {
    private let rows: [Timeline.Row]
    private var callers: [TimelineCaller] = []
    private var exchanges: [TimelineExchange] = []
    private var pipeline: ImagePipeline!
    private let clock = VirtualClock()
    private var moment = 0
    /// For each URL, the moments in which a fetch was queued.
    private var queued: [String: Set<Int>] = [:]

    let schemes: Set<String> = ["http"]

    init(_ rows: [Timeline.Row], fetches: Int) {
        self.rows = rows
        var configuration = ImagePipeline.Configuration(transports: [.shared(self)], codecs: CodecRegistry([]))
        configuration.clock = clock
        configuration.maximumConcurrentFetches = fetches
        configuration.maximumConcurrentFetchesPerOrigin = fetches
        configuration.memoryCache = MemoryCacheConfiguration(limit: 0, reactsToMemoryPressure: false)
        do throws(LoadError) {
            pipeline = try ImagePipeline(configuration: configuration)
        } catch {
            preconditionFailure("a pipeline cannot be made: \(error)")
        }
        callers = rows.filter { $0.wanted != nil }.map { caller in
            let answer = rows.first { $0.name == caller.wanted && $0.wanted == nil }
            return TimelineCaller(caller, letters: (answer?.moments ?? []).filter(\.isLetter))
        }
    }

    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        let url = String(request.url.path.dropFirst())
        let answer = rows.first { $0.name == url && $0.wanted == nil }?.moments ?? []
        let exchange = TimelineExchange(url, answer: answer, receiver: receiver, start: moment)
        exchange.drawn[moment] = Character("\(request.priority.rawValue)")
        exchange.queued = queued.removeValue(forKey: url) ?? []
        exchanges.append(exchange)
        return exchange
    }

    func shutdown() async {}

    /// Whether anything may still happen without a caller's action.
    var isBusy: Bool { exchanges.contains { !$0.isOver } || callers.contains { $0.queue.count > 0 } }

    func play(_ moment: Int) {
        self.moment = moment
        for exchange in exchanges { exchange.moment = moment }
        for caller in callers { caller.act(at: moment, pipeline) }
        for exchange in exchanges where exchange.start < moment && !exchange.isOver { exchange.step() }
        for caller in callers { caller.listen(at: moment) }
        for caller in callers where caller.isWaiting {
            guard let url = caller.row.wanted, !exchanges.contains(where: { $0.url == url && $0.isWanted }) else {
                continue
            }
            queued[url, default: []].insert(moment)
        }
        // Long enough that each piece is reported as progress.
        clock.advance(by: .milliseconds(16))
    }

    /// Ends all pending work and releases it, because the pipeline retains its transport, which is this object.
    func end() {
        for caller in callers { caller.leave() }
        for exchange in exchanges where !exchange.isOver { exchange.stop() }
        for caller in callers { caller.dropAll() }
        pipeline = nil
        exchanges = []
        callers = []
    }

    var drawing: String {
        var lines: [(name: String, drawn: [Int: Character])] = []
        for row in rows where row.wanted == nil {
            for (index, exchange) in exchanges.filter({ $0.url == row.name }).enumerated() {
                var drawn = exchange.drawn
                for moment in exchange.queued { drawn[moment] = "." }
                lines.append((row.name + String(repeating: "'", count: index), drawn))
            }
        }
        for caller in callers { lines.append((caller.row.name, caller.drawn)) }
        let width = (lines.map(\.name.count).max() ?? 0) + 2
        return lines.map { line in
            let last = line.drawn.keys.max() ?? -1
            let moments = String((0..<(last + 1)).map { line.drawn[$0] ?? "-" })
            let name = line.name + String(repeating: " ", count: width - line.name.count)
            return moments.isEmpty ? line.name : name + moments
        }.joined(separator: "\n")
    }
}

/// The row of one caller.
// Unchecked: everything happens on the thread that plays.
private final class TimelineCaller: @unchecked Sendable {
    let row: Timeline.Row
    let queue = ManualQueue()
    var drawn: [Int: Character] = [:]
    private var task: ImageTask?
    private var moment = 0
    private(set) var isWaiting = false

    /// The letters of the requested response.
    private let letters: [Character]

    init(_ row: Timeline.Row, letters: [Character]) {
        self.row = row
        self.letters = letters
    }

    func act(at moment: Int, _ pipeline: ImagePipeline) {
        guard moment < row.moments.count, row.moments[moment] != "-" else { return }
        guard let digit = row.moments[moment].wholeNumberValue,
            let priority = ImageRequest.Priority(rawValue: UInt8(digit))
        else {
            task?.cancel()
            isWaiting = false
            return
        }
        if let task {
            task.priority = priority
            return
        }
        isWaiting = true
        let request = ImageRequest("http://t/\(row.wanted ?? "")", priority: priority)
        task = pipeline.loadResponse(request, on: queue.callbackQueue) { [unowned self] _, progress in
            // A body's bytes are its letters, and the last one received is drawn.
            drawn[self.moment] = letters[Int(progress.receivedBytes) - 1]
        } completion: { [unowned self] _, result in
            isWaiting = false
            drawn[self.moment] = (try? result.get()) == nil ? "!" : "|"
        }
    }

    func leave() {
        task?.cancel()
        task = nil
    }

    func dropAll() {
        while queue.count > 0 { queue.dropAll() }
    }

    func listen(at moment: Int) {
        self.moment = moment
        queue.runAll()
    }
}

/// One exchange, which delivers its URL's response one moment at a time.
// Unchecked: everything happens on the thread that plays.
private final class TimelineExchange: Transfer, @unchecked Sendable {
    let url: String
    let start: Int
    private let answer: [Character]
    private let receiver: any TransportReceiver
    var moment: Int
    var drawn: [Int: Character] = [:]
    var queued: Set<Int> = []
    private var position = 0
    private var count: Int64 = 0
    private var cancelled: Int?
    private(set) var isOver = false

    init(_ url: String, answer: [Character], receiver: any TransportReceiver, start: Int) {
        self.url = url
        self.answer = answer
        self.receiver = receiver
        self.start = start
        moment = start
    }

    /// Whether the exchange may still deliver anything to a task.
    var isWanted: Bool { !isOver && cancelled == nil }

    func cancel() {
        cancelled = moment
        drawn[moment] = "x"
    }

    func resume() {}

    func setPriority(_ priority: ImageRequest.Priority) {
        drawn[moment] = Character("\(priority.rawValue)")
    }

    func step() {
        if let cancelled {
            if cancelled < moment { end(.cancelled) }
            return
        }
        guard position < answer.count else { return }
        if position == 0 { _ = receiver.didReceive(ResponseHead(status: 200), expectedBytes: nil) }
        let event = answer[position]
        position += 1
        if event == "-" { return }
        drawn[moment] = event
        switch event {
        case "|": end(nil)
        case "!": end(.truncated)
        default:
            let byte = Array(String(event).utf8.prefix(1))
            _ = unsafe byte.withUnsafeBytes { unsafe receiver.didReceive($0, at: count) }
            count += 1
        }
    }

    func stop() {
        end(.cancelled)
    }

    private func end(_ code: LoadError.Code?) {
        isOver = true
        if let code {
            receiver.didEnd(.failure(LoadError(code, stage: .fetch, message: "The timeline wants it so.")))
        } else {
            receiver.didEnd(.success(TransportSummary(wireBytes: count, bodyBytes: count)))
        }
    }
}
