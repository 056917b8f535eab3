// The stages of a load, and what is known of its picture in memory.

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
        case 0 where plan.purpose == .processed: ProcessedLookUp(engine: self, id: id, plan: plan)
        case 0 where plan.request.source != nil: SourceJob(engine: self, id: id, plan: plan)
        case 0: FetchJob(engine: self, id: id, plan: plan)
        case 1: DecodeJob(engine: self, id: id, plan: plan)
        default: ProcessJob(engine: self, id: id, plan: plan, position: position - 2)
        }
    }

    /// What the wanted picture is known by in memory; `nil` where what is there would not do.
    func memoryKey(_ plan: RequestPlan) -> JobKey? {
        guard plan.mayBeInMemory else { return nil }
        return plan.memoryKey(at: plan.processKeys.count, harmlessFields: harmlessFields)
    }

    /// The picture from memory, without waiting for anything.
    func cached(_ key: JobKey?) -> LoadedImage? {
        guard let key, var image = cache.image(for: ImageCacheKey(key)) else { return nil }
        image.source = .memory
        return image
    }
}
