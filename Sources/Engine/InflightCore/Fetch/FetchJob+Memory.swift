import InflightConcurrency

// The effect of responses on images in memory.

extension FetchJob {
    /// Updates the freshness of images in memory from a response.
    ///
    /// - Parameter response: the response with its times; `nil` for a stored response that may be stale.
    /// - Returns: the lifetime of images made from it; `nil` if no image is made, or HTTP's rules do not apply.
    func lifetime(
        of response: @autoclosure () -> StoredResponse?, from source: LifetimeTable.Source, _ work: Work
    ) -> ImageLifetime? {
        let makesImage =
            plan.goal == .image || plan.purpose == .revalidation(ofPicture: true)
            || scheduler.anyTask(of: id) { $0.goal == .image }
        guard makesImage || stage.images.lifetimes.withLock({ $0.count > 0 }) else { return nil }
        let response = response()
        // A custom scheme may respond as HTTP does. A file does not.
        guard currentURL(work).origin != nil || response.map({ $0.head.version != .none }) ?? false else { return nil }
        let key = plan.resource(after: work.redirected, fieldsExcludedFromKey: stage.fieldsExcludedFromKey)
        guard makesImage else {
            // A newer response concerns the images in memory even if this fetch makes none.
            if let response, source != .stored {
                stage.images.lifetimes.withLock { $0.noticed(response, for: key, from: source) }
            }
            return nil
        }
        guard let response else { return .expired }
        let lifetime = stage.images.lifetimes.withLock { $0.received(response, for: key, from: source) }
        return work.redirectExpiry.map { ImageLifetime(of: lifetime, redirectedUntil: $0) } ?? lifetime
    }

    /// Updates the freshness of images in memory from a stored response.
    func lifetime(fromStore source: LoadSource, _ work: Work) -> ImageLifetime? {
        var response = work.isStale ? nil : work.cache?.representation
        guard source == .revalidated else { return lifetime(of: response, from: .stored, work) }
        if let newer = work.exchange.head, CacheControl(newer.fields).noStore {
            response?.head.fields.set("Cache-Control", "no-store")
        }
        return lifetime(of: response, from: .revalidated, work)
    }

    /// Returns a response whose body has just been received, with its times.
    func received(_ head: ResponseHead, _ work: Work) -> StoredResponse {
        StoredResponse(
            method: plan.request.method, url: currentURL(work).string, varyFields: HTTPFields(), head: head,
            requestTime: work.exchange.requestTime, responseTime: work.exchange.responseTime, bodyRange: 0..<0,
            totalLength: nil)
    }

    /// Limits the freshness of images behind a redirect to that of the redirect.
    func limitLifetime(by redirect: StoredResponse?, _ work: Work) {
        let expiry = redirect.map { MemoryFreshness(of: $0).expiry } ?? WallTime(milliseconds: 0)
        work.redirectExpiry = min(work.redirectExpiry ?? expiry, expiry)
    }

    /// Marks images in memory stale as soon as a head shows that a resource was changed or is gone.
    func noteInvalidation(by head: ResponseHead, _ work: Work) {
        let isGone = head.status == 404 || head.status == 410
        let isSafe = plan.request.hasDefaults || Invalidation.isSafe(plan.request.method)
        guard isGone || !isSafe, head.version != .none, stage.images.lifetimes.withLock({ $0.count > 0 })
        else { return }
        let urls =
            isSafe
            ? []
            : Invalidation.urls(
                head,
                of: plan.stored(
                    after: work.redirected, defaultFields: stage.defaultFields,
                    fieldsExcludedFromKey: stage.fieldsExcludedFromKey
                ).1)
        let key = plan.resource(after: work.redirected, fieldsExcludedFromKey: stage.fieldsExcludedFromKey)
        stage.images.lifetimes.withLock { table in
            if isGone { table.superseded(key) }
            for url in urls { table.invalidated(url) }
        }
    }
}
