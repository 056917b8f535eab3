internal import InflightConcurrency
internal import InflightCore

/// One exchange of a scripted transport. All that changes is the core's, under its lock.
// Unchecked: the variables are touched under the core's lock alone.
final class ScriptedExchange: Transfer, @unchecked Sendable {
    typealias Script = ScriptedTransport.Script

    let number: Int
    let request: TransportRequest
    /// Used by whoever moves the exchange; `nil` from its end on, which is told to it apart.
    var receiver: (any TransportReceiver)?
    let script: Script
    private let core: ScriptedCore

    /// Where it stands in the core's table of live ones; -1 after its end.
    var place = -1
    var nextStep = 0
    var offset: Int64 = 0
    var isCancelled = false
    var isPaused = false
    /// `resume()` came while the receiver was being called: before its answer was known.
    var isResumedEarly = false
    var isDelivering = false
    /// In the run queue, or in the hands of the thread that runs it.
    var isQueued = false
    /// The receiver has heard of the end.
    var isTold = false
    /// The stall that it has reached and may not pass.
    var stall: String?

    init(
        number: Int, request: TransportRequest, receiver: any TransportReceiver, script: Script, core: ScriptedCore
    ) {
        self.number = number
        self.request = request
        self.receiver = receiver
        self.script = script
        self.core = core
    }

    func cancel() { core.cancel(self) }
    func resume() { core.resume(self) }
    func setPriority(_ priority: LoadPriority) { core.setPriority(of: self, to: priority) }
}
