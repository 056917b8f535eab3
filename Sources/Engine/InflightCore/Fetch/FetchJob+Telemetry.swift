import InflightConcurrency

// What listeners are told of a fetch. Nothing is done where nobody listens.

extension FetchJob {
    /// Bytes between two events that tell of them.
    private static let toldStep: Int64 = 64 * 1024

    /// What a transport says of its connection, with the times at which it was.
    func tell(_ timings: TransportTimings, _ work: Work) {
        guard let telemetry = engine.telemetry else { return }
        let job = id.number
        func record(_ kind: PipelineEvent.Kind, after time: Duration?) {
            guard let time else { return }
            telemetry.record(kind, job: job, at: work.exchange.sentAt + time, isPast: true)
        }
        record(.nameResolved, after: timings.nameResolved)
        record(.connected(reused: timings.reusedConnection), after: timings.connected)
        record(.secured, after: timings.secured)
        record(.firstByte, after: timings.firstByte)
        telemetry.handOut()
    }

    func tellBytes(_ work: Work) {
        let count = Int64(work.response.body.count)
        guard count - work.exchange.toldBytes >= Self.toldStep else { return }
        work.exchange.toldBytes = count
        tell(.received(bytes: count))
    }

    func tellEnd(_ result: Result<TransportSummary, LoadError>, _ work: Work) {
        let count = Int64(work.response.body.count)
        if count > work.exchange.toldBytes { tell(.received(bytes: count)) }
        tell(.exchangeEnded(wireBytes: (try? result.get())?.wireBytes))
    }

    /// Tells that bytes go to the store.
    ///
    /// - Returns: what tells that the store is through with them.
    func tellsStoring(_ count: Int) -> @Sendable () -> Void {
        guard let telemetry = engine.telemetry else { return {} }
        let job = id.number
        telemetry.tell(.storing(bytes: Int64(count)), job: job)
        return { telemetry.tell(.stored(bytes: Int64(count)), job: job) }
    }
}
