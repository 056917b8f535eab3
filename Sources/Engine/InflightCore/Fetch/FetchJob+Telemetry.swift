import InflightConcurrency

// Events of a fetch for observers. Without an observer, nothing is recorded.

extension FetchJob {
    /// The number of bytes between two events that report them.
    private static let reportingStep: Int64 = 64 * 1024

    /// Records the connection's timings that a transport reports, with the times at which they occurred.
    func tell(_ timings: TransportTimings, _ work: Work) {
        guard let telemetry = scheduler.telemetry else { return }
        let job = id.number
        func record(_ kind: ImagePipeline.Event.Kind, after time: Duration?) {
            guard let time else { return }
            telemetry.record(kind, job: job, at: work.exchange.sentAt + time, isPast: true)
        }
        record(.nameResolved, after: timings.nameResolved)
        record(.connected(reused: timings.reusedConnection), after: timings.connected)
        record(.secured, after: timings.secured)
        record(.firstByte, after: timings.firstByte)
        telemetry.flush()
    }

    func reportBytes(_ work: Work) {
        let count = Int64(work.response.body.count)
        guard count - work.exchange.reportedBytes >= Self.reportingStep else { return }
        work.exchange.reportedBytes = count
        tell(.received(bytes: count))
    }

    func reportEnd(_ result: Result<TransportSummary, LoadError>, _ work: Work) {
        let count = Int64(work.response.body.count)
        if count > work.exchange.reportedBytes { tell(.received(bytes: count)) }
        tell(.exchangeEnded(wireBytes: (try? result.get())?.wireBytes))
    }

    /// Records that bytes are passed to the store.
    ///
    /// - Returns: a closure that records that the store has processed them.
    func reportStoring(_ count: Int) -> @Sendable () -> Void {
        guard let telemetry = scheduler.telemetry else { return {} }
        let job = id.number
        telemetry.tell(.storing(bytes: Int64(count)), job: job)
        return { telemetry.tell(.stored(bytes: Int64(count)), job: job) }
    }
}
