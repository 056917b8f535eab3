import InflightConcurrency

// Events for the observer about the engine's decisions.

extension Engine {
    /// Records the machine's decisions. Called with the engine's lock held, so it calls no observer.
    ///
    /// - Parameter plan: the plan that new jobs were made for.
    func note(_ journal: [Machine.JournalEntry]?, of plan: RequestPlan? = nil, at now: MonotonicTime) {
        guard let telemetry, let journal else { return }
        for entry in journal {
            switch entry {
            case .made(let id, let position, let after):
                guard let plan else { preconditionFailure("a job without a request") }
                telemetry.record(
                    .made(jobKind(position, of: plan), subject: subject(position, of: plan), after: after?.number),
                    job: id.number, at: now)
            case .waits(let task, let id):
                telemetry.record(.waits, task: task.number, job: id.number, at: now)
            case .joined(let task, let id):
                telemetry.record(.joined, task: task.number, job: id.number, at: now)
            case .queued(let id, let lane): telemetry.record(.queued(lane.lane), job: id.number, at: now)
            case .started(let id, let lane): telemetry.record(.started(lane.lane), job: id.number, at: now)
            case .prioritized(let id, let priority):
                telemetry.record(.prioritized(priority), job: id.number, at: now)
            case .abandoned(let id): telemetry.record(.abandoned, job: id.number, at: now)
            case .ended(let id, let job):
                let kind: PipelineEvent.Kind =
                    job.result?.error.map { .failed($0.code, why: $0.message) } ?? .succeeded
                telemetry.record(kind, job: id.number, at: now)
            case .refused(let id, let refusal):
                let error = unavailable(refusal)
                telemetry.record(.failed(error.code, why: error.message), job: id.number, at: now)
            case .circuit(let id, let origin, let state):
                telemetry.record(
                    .circuitChanged(origin: origin.description, state), job: id.number, at: now)
            case .discarded(let id): telemetry.record(.discarded, job: id.number, at: now)
            case .stopped(let id): telemetry.record(.stopped, job: id.number, at: now)
            }
        }
    }

    private func jobKind(_ position: Int, of plan: RequestPlan) -> PipelineEvent.JobKind {
        switch position {
        case 0 where plan.isProcessedLookUp: .lookUp
        case 0 where plan.request.source != nil: .source
        case 0: .fetch
        case 1: .decode
        default: .process
        }
    }

    private func subject(_ position: Int, of plan: RequestPlan) -> String {
        let url = plan.url.string
        return position < 2 ? url : "\(url), processor \(position - 1)"
    }

    /// Ends a task with an image from memory.
    func end(_ task: ImageTask, inMemory hit: LoadedImage) {
        telemetry?.tell(.foundInMemory, task: task.number)
        task.didEnd(JobResult(.image(hit)))
    }

    /// Reports that the task continues with another load.
    func goesElsewhere(_ task: ImageTask, _ why: @autoclosure () -> String) {
        guard let telemetry else { return }
        telemetry.tell(.goesElsewhere(why: why()), task: task.number)
    }
}

extension EngineJob {
    /// Reports an event to the observer. Without one, no event is built. Called with no lock held.
    @inline(__always)
    final func tell(_ kind: @autoclosure () -> PipelineEvent.Kind) {
        guard let telemetry = engine.telemetry else { return }
        telemetry.tell(kind(), job: id.number)
    }
}
