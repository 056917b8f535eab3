/// The program's own code that a pipeline calls, apart from its codecs, processors and transports.
struct Hooks: Sendable {
    let willSend: (@Sendable (inout OutgoingRequest) async throws -> Void)?
    let didReceive: (@Sendable (ReceivedHead) async throws -> HeadDecision)?
    let log: (@Sendable (LogEntry) -> Void)?
    let taskExecutor: (any TaskExecutor)?

    init(_ configuration: ImagePipeline.Configuration) {
        willSend = configuration.willSend
        didReceive = configuration.didReceive
        log = configuration.log
        taskExecutor = configuration.taskExecutor
    }
}
