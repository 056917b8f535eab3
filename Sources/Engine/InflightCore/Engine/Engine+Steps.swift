// The steps of a plan, and the jobs that run them.

extension Engine {
    func step(_ position: Int, of plan: RequestPlan) -> Machine.Step {
        switch position {
        case 0 where store != nil && plan.mayBeStored: Machine.Step(key: plan.fetchKey, lane: .store, group: .none)
        case 0: Machine.Step(key: plan.fetchKey, lane: .fetch, group: plan.origin)
        case 1: Machine.Step(key: plan.decodeKey ?? plan.fetchKey, lane: .decode, group: .none)
        default: Machine.Step(key: plan.processKeys[position - 2], lane: .decode, group: .none)
        }
    }

    func makeJob(_ position: Int, id: Machine.JobID, plan: RequestPlan) -> EngineJob {
        switch position {
        case 0 where plan.isProcessedLookUp: ProcessedLookUp(engine: self, id: id, plan: plan)
        case 0 where plan.request.source != nil: SourceJob(engine: self, id: id, plan: plan)
        case 0: FetchJob(engine: self, id: id, plan: plan)
        case 1: DecodeJob(engine: self, id: id, plan: plan)
        default: ProcessJob(engine: self, id: id, plan: plan, position: position - 2)
        }
    }
}
