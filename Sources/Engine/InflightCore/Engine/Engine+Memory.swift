import InflightConcurrency

// Lookups in the image cache.

extension Engine {
    /// Returns the image in memory that may serve a plan: the finished image, or else the longest finished prefix of
    /// its processors.
    func findInMemory(_ plan: RequestPlan) -> MemoryHit? {
        guard plan.mayBeInMemory, let keys = plan.memoryPlan(harmlessFields) else { return nil }
        var count = keys.processKeys.count
        while true {
            if var image = cache.image(for: ImageCacheKey(keys.imageKey(count))), mayServe(&image, plan.request) {
                image.source = .memory
                return MemoryHit(image: image, steps: 2 + count)
            }
            if count == 0 { return nil }
            count -= 1
        }
    }

    /// Returns the finished image in memory, fresh or stale and marked so.
    func cached(_ plan: RequestPlan) -> LoadedImage? {
        guard plan.mayBeInMemory, let keys = plan.memoryPlan(harmlessFields),
            var image = cache.image(for: ImageCacheKey(keys.imageKey(keys.processKeys.count)))
        else { return nil }
        image.source = .memory
        image.isStale = !(image.lifetime?.isFresh(at: wallTime) ?? true)
        return image
    }

    private func mayServe(_ image: inout LoadedImage, _ request: ImageRequest) -> Bool {
        guard let lifetime = image.lifetime else { return true }
        image.isStale = !lifetime.isFresh(at: wallTime)
        if !image.isStale { return true }
        if allowsStaleFromMemory || !request.isUsual && request.allowsStaleFromMemory { return !lifetime.isSuperseded }
        return !request.isUsual && request.cachePolicy == .preferCached && lifetime.allowsStale
    }

    /// Returns whether a task that depends on the job, directly or through later jobs, wants an image.
    func makesImage(_ id: Machine.JobID) -> Bool {
        var makesImage = false
        readMachine { machine in
            machine.forEachTask(of: id) { _, task in makesImage = makesImage || task.goal == .image }
        }
        return makesImage
    }
}
