import InflightConcurrency

// What responses mean for images in memory.

extension FetchJob {
    /// Notes what a response means for images in memory.
    ///
    /// - Parameter response: with its times; `nil`: what was stored and may be stale.
    /// - Returns: the lifetime of images made of it; `nil` where nobody makes one, or HTTP has no say.
    func lifetime(of response: StoredResponse?, from source: LifetimeTable.Source, _ work: Work) -> ImageLifetime? {
        // A scheme of the program's own may answer as HTTP does; a file does not.
        guard currentURL(work).origin != nil || response.map({ $0.head.version != .none }) ?? false else { return nil }
        let makesImage =
            plan.goal == .image || plan.purpose == .revalidation(ofPicture: true) || engine.makesImage(id)
        guard makesImage || engine.lifetimes.withLock({ $0.count > 0 }) else { return nil }
        let key = plan.resource(after: work.redirected, harmlessFields: engine.harmlessFields)
        guard makesImage else {
            // What is newer concerns the images all the same.
            if let response, source != .stored {
                engine.lifetimes.withLock { $0.noticed(response, for: key, from: source) }
            }
            return nil
        }
        guard let response else { return .expired }
        let lifetime = engine.lifetimes.withLock { $0.received(response, for: key, from: source) }
        return work.redirectExpiry.map { ImageLifetime(of: lifetime, redirectedUntil: $0) } ?? lifetime
    }

    /// Notes what a stored response means for images in memory.
    func lifetime(ofStored source: LoadSource, _ work: Work) -> ImageLifetime? {
        var response = work.isStale ? nil : work.cache?.representation
        guard source == .revalidated else { return lifetime(of: response, from: .stored, work) }
        if let newer = work.exchange.head, CacheControl(newer.fields).noStore {
            response?.head.fields.set("Cache-Control", "no-store")
        }
        return lifetime(of: response, from: .revalidated, work)
    }

    /// A response whose body has just come.
    func received(_ head: ResponseHead, _ work: Work) -> StoredResponse {
        StoredResponse(
            method: plan.request.method, url: currentURL(work).string, selectingFields: HTTPFields(), head: head,
            requestTime: work.exchange.requestTime, responseTime: work.exchange.responseTime, bodyRange: 0..<0,
            totalLength: nil)
    }

    /// Images that a redirect has led to are fresh no longer than it.
    func limitLifetime(by redirect: StoredResponse?, _ work: Work) {
        let expiry = redirect.map { MemoryFreshness(of: $0).expiry } ?? WallTime(milliseconds: 0)
        work.redirectExpiry = min(work.redirectExpiry ?? expiry, expiry)
    }

    /// Notes what a head means for images in memory before its body has come: something was changed, or is gone.
    func noteInvalidation(by head: ResponseHead, _ work: Work) {
        let isGone = head.status == 404 || head.status == 410
        let isSafe = plan.request.isUsual || Invalidation.isSafe(plan.request.method)
        guard isGone || !isSafe, head.version != .none, engine.lifetimes.withLock({ $0.count > 0 }) else { return }
        let urls =
            isSafe
            ? []
            : Invalidation.urls(
                head,
                of: plan.stored(
                    after: work.redirected, usualFields: engine.usualFields, harmlessFields: engine.harmlessFields
                ).1)
        let key = plan.resource(after: work.redirected, harmlessFields: engine.harmlessFields)
        engine.lifetimes.withLock { table in
            if isGone { table.superseded(key) }
            for url in urls { table.invalidated(url) }
        }
    }
}
