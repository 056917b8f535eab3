internal import InflightConcurrency
internal import InflightCore

/// One exchange of a scripted transport. Its core owns all its mutable state, under the core's lock.
// Unchecked: the variables are accessed only under the core's lock.
final class ScriptedExchange: Transfer, @unchecked Sendable {
    typealias Script = ScriptedTransport.Script

    let number: Int
    let request: TransportRequest
    /// At first those of the request.
    var limits: TransportRequest.Limits
    /// Used by the thread that moves the exchange; nil once it has ended, because the end is delivered separately.
    var receiver: (any TransportReceiver)?
    let script: Script
    private let core: ScriptedCore

    /// The exchange's index in the core's table of live exchanges; -1 after its end.
    var place = -1
    var nextStep = 0
    var offset: Int64 = 0
    var isCancelled = false
    var isPaused = false
    /// Whether `resume()` was called while the receiver was being called, before its disposition was known.
    var isResumedEarly = false
    var isDelivering = false
    /// Whether the exchange is in the run queue, or is being run by the thread.
    var isQueued = false
    /// Whether the end was delivered to the receiver.
    var isTold = false
    /// The stall that the exchange has reached and may not pass.
    var stall: String?
    /// The times of the start and of the arrival at the stall; nil without a clock.
    let startedAt: MonotonicTime?
    var stalledAt: MonotonicTime?

    init(
        number: Int, request: TransportRequest, receiver: any TransportReceiver, script: Script, core: ScriptedCore,
        startedAt: MonotonicTime?
    ) {
        self.number = number
        self.request = request
        limits = request.limits
        self.receiver = receiver
        self.script = script
        self.core = core
        self.startedAt = startedAt
    }

    /// The time at which the first timeout passes while the exchange is stalled, and that timeout.
    var deadline: (time: MonotonicTime, timeout: String, after: Duration)? {
        guard stall != nil, let startedAt, let stalledAt else { return nil }
        var all: [(time: MonotonicTime, timeout: String, after: Duration)] = []
        if case .connection = script.steps[nextStep] {
            if let time = limits.connectTimeout { all.append((stalledAt + time, "connectTimeout", time)) }
        } else if let time = limits.stallTimeout {
            all.append((stalledAt + time, "stallTimeout", time))
        }
        if let time = limits.totalTimeout { all.append((startedAt + time, "totalTimeout", time)) }
        return all.min { $0.time < $1.time }
    }

    func cancel() { core.cancel(self) }
    func resume() { core.resume(self) }
    func setPriority(_ priority: ImageRequest.Priority) { core.setPriority(of: self, to: priority) }
    func setLimits(_ limits: TransportRequest.Limits) { core.setLimits(of: self, to: limits) }
}
