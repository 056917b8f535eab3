internal import Foundation
internal import InflightConcurrency
internal import InflightCore

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// One exchange: the caller's handle, and the state of its `URLSession` task.
// Unchecked: all mutable state except `task` is used only on the session's delegate queue, which is serial.
final class SessionExchange: Transfer, @unchecked Sendable {
    let request: TransportRequest
    private let owner: SessionExchanges

    /// Retained until its end has been delivered.
    private var receiver: (any TransportReceiver)?
    /// Used only on the thread that calls the session.
    private var task: URLSessionDataTask?
    private var hasBegun = false
    private var timer: (any ScheduledWork)?

    /// The reason to stop, if any.
    private var stop: LoadError?
    /// Whether the task was cancelled or is ending by itself. Cancelling it now would crash the program.
    private var isTaskEnding = false
    /// Whether the response is a 401 that asks for credentials. Its task ends as cancelled, but it is complete.
    private var isRejected = false
    private(set) var hasHead = false
    private var bodyBytes: Int64 = 0
    private var wireBytes: Int64?
    private var isPaused = false
    /// The data received during a pause.
    private var held: [Data] = []
    private var heldBytes: Int64 = 0
    private var heldEnd: Result<TransportSummary, LoadError>?

    let startedAt = SystemClock().now()
    /// The time when the last byte was received or sent; nil if there was none.
    private(set) var lastActivity: MonotonicTime?

    init(_ request: TransportRequest, _ receiver: any TransportReceiver, owner: SessionExchanges) {
        self.request = request
        self.receiver = receiver
        self.owner = owner
    }

    func cancel() {
        stopLater(cancelled)
    }

    func shutDown() {
        stopLater(failure(.shutDown, "The transport was shut down. Create a new one."))
    }

    func resume() {
        owner.run { self.proceed() }
    }

    private func stopLater(_ error: LoadError) {
        owner.run { self.stop(error) }
    }

    // MARK: On the delegate queue

    func begin(isShutDown: Bool) {
        if isShutDown {
            return end(.failure(failure(.shutDown, "The transport was shut down. Create a new one.")))
        }
        let urlRequest: URLRequest
        do throws(LoadError) {
            urlRequest = try URLRequest(request)
        } catch {
            return end(.failure(error))
        }
        hasBegun = true
        owner.call { self.makeTask(urlRequest) }
        watchTime()
    }

    /// Creates the task. Runs on the thread that calls the session.
    private func makeTask(_ urlRequest: URLRequest) {
        let task = owner.session.dataTask(with: urlRequest)
        task.priority = request.priority.weight
        self.task = task
        owner.delegate.add(self, for: task)
        task.resume()
    }

    private func stop(_ error: LoadError) {
        guard receiver != nil, stop == nil else { return }
        stop = error
        held = []
        guard hasBegun, heldEnd == nil else { return end(.failure(error)) }
        if lastActivity != nil { return cancelTask() }
        owner.names.afterLookup(of: request.url.origin?.host ?? "") { [owner] in
            owner.run { self.cancelTask() }
        }
    }

    private func cancelTask() {
        guard !isTaskEnding, receiver != nil else { return }
        isTaskEnding = true
        owner.call { self.task?.cancel() }
    }

    func didSend() {
        lastActivity = SystemClock().now()
    }

    /// - Returns: whether the task still waits for a decision.
    func willRedirect() -> Bool {
        defer { isTaskEnding = true }
        return !isTaskEnding
    }

    /// - Returns: whether the task still waits for a decision.
    func willAuthenticate() -> Bool {
        defer { isTaskEnding = true }
        isRejected = !isTaskEnding
        return !isTaskEnding
    }

    func didReceive(_ response: URLResponse) {
        lastActivity = SystemClock().now()
        guard stop == nil, !hasHead, let response = response as? HTTPURLResponse else { return }
        var head = ResponseHead(response)
        guard head.fields.wireSize <= request.limits.maximumHeadBytes else {
            return stop(
                failure(
                    .badResponse,
                    "The header section of the response is longer than \(request.limits.maximumHeadBytes) bytes. "
                        + "The server may be broken or malicious. The response was discarded."))
        }
        // 101 ends the use of HTTP on the connection, so it is a final response.
        if (100..<200).contains(head.status), head.status != 101 {
            receiver?.didReceive(interim: head)
            return
        }
        hasHead = true
        let announced = head.announcedBytes(method: request.method)
        wireBytes = announced
        if let announced, announced > request.limits.maximumBodyBytes {
            return stop(tooLarge("The announced body length is \(announced) bytes"))
        }
        var expected = announced
        if request.fields.contains("Accept-Encoding"), head.isCoded {
            // Foundation has decoded the body. The head must not state a coding, or the caller would decode it again.
            head.fields.remove("Content-Encoding")
            head.fields.remove("Content-Length")
            expected = nil
        }
        obey(receiver?.didReceive(head, expectedBytes: expected) ?? .cancel)
    }

    func didReceive(_ data: Data) {
        lastActivity = SystemClock().now()
        guard stop == nil, hasHead, !data.isEmpty else { return }
        guard Int64(data.count) <= request.limits.maximumBodyBytes - bodyBytes - heldBytes else {
            return stop(tooLarge("The body is too long"))
        }
        if isPaused {
            held.append(data)
            heldBytes += Int64(data.count)
        } else {
            handOn(data)
        }
    }

    private func handOn(_ data: Data) {
        // Foundation may deliver data in several regions.
        for piece in data.regions {
            guard stop == nil else { return }
            let offset = bodyBytes
            bodyBytes += Int64(piece.count)
            let disposition = unsafe piece.withUnsafeBytes { unsafe receiver?.didReceive($0, at: offset) }
            obey(disposition ?? .cancel)
        }
    }

    private func obey(_ disposition: TransportDisposition) {
        switch disposition {
        case .proceed: break
        case .pause: isPaused = true
        case .cancel: stop(cancelled)
        }
    }

    private func proceed() {
        guard isPaused, receiver != nil else { return }
        isPaused = false
        lastActivity = SystemClock().now()
        while !isPaused, stop == nil, !held.isEmpty {
            let data = held.removeFirst()
            heldBytes -= Int64(data.count)
            handOn(data)
        }
        if !isPaused, let heldEnd { end(heldEnd) }
        if receiver != nil { watchTime() }
    }

    func didComplete(response: URLResponse?, error: (any Error)?) {
        isTaskEnding = true
        if let stop { return end(.failure(stop)) }
        // Deliver the response of a redirect without a usable target here, because it was not delivered before.
        if error == nil, !hasHead, let response { didReceive(response) }
        let result: Result<TransportSummary, LoadError> =
            if let stop {
                .failure(stop)
            } else if let error, !isRejected {
                .failure(failure(for: error))
            } else if hasHead {
                .success(
                    TransportSummary(wireBytes: wireBytes ?? bodyBytes + heldBytes, bodyBytes: bodyBytes + heldBytes))
            } else {
                .failure(failure(.badResponse, "The response is not HTTP. Check the port."))
            }
        if isPaused, stop == nil { heldEnd = result } else { end(result) }
    }

    private func end(_ result: Result<TransportSummary, LoadError>) {
        guard let receiver else { return }
        self.receiver = nil
        timer?.cancel()
        timer = nil
        held = []
        owner.call { self.task = nil }
        receiver.didEnd(result)
        owner.didEnd(self)
    }

    // MARK: Time

    /// Checks the time limits, and schedules the next check.
    private func watchTime() {
        timer?.cancel()
        timer = nil
        guard stop == nil, let (deadline, error) = nextDeadline(isPaused: isPaused) else { return }
        if SystemClock().now() >= deadline { return stop(error) }
        timer = SystemClock().schedule(at: deadline) { self.owner.run { self.watchTime() } }
    }

    private func tooLarge(_ what: String) -> LoadError {
        failure(
            .tooLarge,
            "\(what); the limit is \(request.limits.maximumBodyBytes) bytes. Raise maximumBodyBytes if you trust the server."
        )
    }
}

extension ImageRequest.Priority {
    /// The priority between 0 and 1, for `URLSessionTask`.
    fileprivate var weight: Float {
        switch self {
        case .veryLow: 0
        case .low: URLSessionTask.lowPriority
        case .normal: URLSessionTask.defaultPriority
        case .high: URLSessionTask.highPriority
        case .veryHigh: 1
        }
    }
}
