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

    init(
        number: Int, request: TransportRequest, receiver: any TransportReceiver, script: Script, core: ScriptedCore
    ) {
        self.number = number
        self.request = request
        limits = request.limits
        self.receiver = receiver
        self.script = script
        self.core = core
    }

    func cancel() { core.cancel(self) }
    func resume() { core.resume(self) }
    func setPriority(_ priority: ImageRequest.Priority) { core.setPriority(of: self, to: priority) }
    func setLimits(_ limits: TransportRequest.Limits) { core.setLimits(of: self, to: limits) }
}
