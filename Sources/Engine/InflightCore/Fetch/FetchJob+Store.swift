import InflightConcurrency

// The cache lookup of a fetch, before it contacts the origin. The store calls back on its own thread; the job does
// nothing else meanwhile.

extension FetchJob {
    /// Returns the next exchange's transaction with the store; `nil` without a store, or for a URL without an origin.
    func makeCacheTransaction(_ work: Work) -> CacheTransaction? {
        guard stage.storage.store != nil, currentURL(work).origin != nil else { return nil }
        let (key, request) = plan.stored(
            after: work.redirected, defaultFields: stage.defaultFields,
            fieldsExcludedFromKey: stage.fieldsExcludedFromKey
        )
        return CacheTransaction(key: key, request: request)
    }

    /// Returns whether a stored response could serve the next exchange.
    func looksUp(_ cache: CacheTransaction) -> Bool {
        cache.request.isReading && cache.request.policy != .noStore
    }

    /// Looks up stored responses, and continues with the result.
    func lookUp(_ work: Work, _ cache: CacheTransaction) {
        guard let store = stage.storage.store else { preconditionFailure("a cache lookup without a store") }
        cache.lookUps += 1
        stage.storage.afterPendingChanges(cache.key) { [self] in lookUp(work, cache, in: store) }
    }

    private func lookUp(_ work: Work, _ cache: CacheTransaction, in store: any ResponseStore) {
        let purpose = plan.purpose
        let request = cache.request
        let now = clock.wallTime
        let made = Guarded<CacheDecision?>(nil)
        store.find(cache.key) { found in
            let decision = Self.decide(found, request, purpose, now)
            made.withLock { $0 = decision }
            return decision.readPosition
        } completion: { [self] found, body in
            cache.found = found
            if endsAsCancelled(work) { return }
            let decision = made.withLock { $0 } ?? Self.decide([], request, purpose, now)
            if decision.readPosition != nil, body == nil {
                // The body has vanished. Decide again from the remaining entries.
                if cache.lookUps < 4 { return lookUp(work, cache) }
                return ask(work, cache, CacheExchange())
            }
            apply(decision, work, cache, body?.bytes)
        }
    }

    private static func decide(
        _ found: [StoredEntry], _ request: CachingRequest, _ purpose: RequestPlan.Purpose, _ now: WallTime
    ) -> CacheDecision {
        if purpose == .refetch {
            let control = CacheControl(request: request.fields)
            guard request.allowsNetwork(control) else { return .fail(CacheDecision.gatewayTimeout) }
            // An intermediate cache may have the same unusable bytes.
            return .exchange(CacheExchange(reloading: request, control))
        }
        let decision = CacheDecision.decide(found: found, request: request, now: now)
        // A revalidation requests the response that replaces the stale one, so it does not serve the stale one.
        if case .revalidation = purpose, case .serveStale(_, let exchange) = decision { return .exchange(exchange) }
        return decision
    }

    private func apply(_ decision: CacheDecision, _ work: Work, _ cache: CacheTransaction, _ body: Bytes?) {
        if case .exchange(let exchange) = decision, exchange.offered.isEmpty, mayConfirmImages(work, cache) {
            return lookForImages(work, cache, else: decision)
        }
        proceed(decision, work, cache, body)
    }

    private func proceed(_ decision: CacheDecision, _ work: Work, _ cache: CacheTransaction, _ body: Bytes?) {
        tell(.lookedUp(decision.lookUp(foundAny: !cache.found.isEmpty)))
        switch decision {
        case .serve(let answer):
            cache.representation = cache.found[answer.position].response
            serve(answer, body, work, from: .disk)
        case .serveStale(let answer, _):
            scheduler.driver(of: id)?.refresh(plan)
            work.isFollowed = true
            serve(answer, body, work, from: .disk)
        case .fail(let head): serveNothing(head, work)
        case .exchange(let exchange): ask(work, cache, exchange)
        case .resume(let resumption):
            if let body { begin(resumption, body, work, cache) }
            ask(work, cache, CacheExchange())
        }
    }

    // MARK: Processed images

    /// Whether a 304 could make the processed images of all subscribers usable again, without the bytes being stored.
    private func mayConfirmImages(_ work: Work, _ cache: CacheTransaction) -> Bool {
        plan.goal == .image && plan.purpose == .usual && work.redirected == nil && !cache.request.isConditional
            && plan.request.method == "GET" && !plan.request.cachePolicy.needsNewResult
            && !scheduler.anyTask(of: id) { !$0.storesProcessedImages }
    }

    /// Looks up the processed images that the subscribers want, to ask the origin whether they are still valid.
    private func lookForImages(_ work: Work, _ cache: CacheTransaction, else decision: CacheDecision) {
        guard let store = stage.storage.store else { preconditionFailure("a cache lookup without a store") }
        let wanted = scheduler.tasks(of: id).map(\.confirmableIdentities)
        guard !wanted.isEmpty, !wanted.contains(nil) else { return proceed(decision, work, cache, nil) }
        let key = ProcessedImages.key(cache.key)
        stage.storage.afterPendingChanges(key) { [self] in
            store.find(key) { _ in
                nil
            } completion: { [self] images, _ in
                if endsAsCancelled(work) { return }
                let offered = ProcessedImages.toConfirm(
                    images, for: cache.request, wanted: wanted.compactMap(\.self))
                let exchange = CacheExchange(confirming: offered, for: cache.request)
                guard !exchange.offered.isEmpty else { return proceed(decision, work, cache, nil) }
                cache.images = offered
                cache.siblings = ProcessedImages.siblings(of: offered, among: images, for: cache.request)
                proceed(.exchange(exchange), work, cache, nil)
            }
        }
    }

    /// Ends the fetch after a 304 that confirms processed images: the subscribers look them up again.
    func confirmImages(_ work: Work) {
        guard let cache = work.cache else { preconditionFailure("a confirmation without a store") }
        for task in scheduler.tasks(of: id) { task.processedImagesWereConfirmed(at: cache.responseTime) }
        updateStore(work, isWhole: false) { [self] in
            finish(
                .failure(
                    LoadError(
                        .notStored, stage: .fetch,
                        message: "The server has confirmed the processed image. The original is not cached.")),
                fromStore: true)
        }
    }

    /// Moves the job to the lane of fetches, because the origin has to be contacted.
    private func ask(_ work: Work, _ cache: CacheTransaction, _ exchange: CacheExchange) {
        cache.exchange = exchange
        work.isLookedUp = true
        let hasStaleResponse = scheduler.hasCircuitBreaker && staleResponse(cache) != nil
        let step = waitForTurn(work, in: .fetch, ahead: work.redirected != nil, hasStaleResponse: hasStaleResponse)
        scheduler.jobAdvanced(step)
    }

    /// Makes the stored part the beginning of the body to receive.
    private func begin(_ resumption: Resumption, _ body: Bytes, _ work: Work, _ cache: CacheTransaction) {
        beginBody(work, resumption.stored.head, nil, .byStatus)
        guard work.exchange.verdict == nil else { return forget(work) }
        work.response.expectedBytes = resumption.stored.totalLength
        guard unsafe body.withUnsafeBytes({ unsafe takeStored($0, work) }) == nil else { return forget(work) }
        work.exchange.receivedBytes = 0
        work.attempts.furthest = work.response.rawBytes
        work.resumption = resumption
        work.response.storedPart = resumption.id
    }

    private func forget(_ work: Work) {
        work.exchange.verdict = nil
        work.forgetBody()
        endBody(work)
    }

    // MARK: Serving

    /// Serves a stored response. Ends the fetch, unless the response is a redirect.
    func serve(_ answer: ServedResponse, _ stored: Bytes?, _ work: Work, from source: LoadSource) {
        let head = answer.head
        if !stage.fieldsExcludedFromKey.isEmpty { respectVary(head) }
        work.forgetBody()
        if let cache = work.cache { cache.entry = StoredEntryReference(key: cache.key, id: answer.id) }
        work.exchange.verdict = follow(head, work) ?? failure(on: head)
        switch work.exchange.verdict {
        case .redirect(let next):
            limitLifetime(by: work.cache?.representation, work)
            return scheduler.jobAdvanced(redirect(work, to: next))
        case .failure(let error):
            // Later loads ask the server again.
            if error.code == .badRedirect { stage.storage.reject(work.cache?.entry) }
            return finish(.failure(error))
        default: break
        }
        work.response.head = head
        // A response that its origin has just validated is not stale, however soon it needs revalidation.
        work.isStale = answer.isStale && source != .revalidated
        let bytes = Self.body(of: answer, stored)
        tell(.readFromStore(bytes: Int64(bytes.count)))
        scheduler.log(.debug, "serving from cache") {
            [("url", currentURL(work).string), ("stale", "\(answer.isStale)")]
        }
        let isCoded = isCoded(head)
        let takesLong =
            isCoded || plan.checksum != nil
            || isChecked(head) && !stage.decoding.checksQuickly(bytes, of: plan.request)
        if takesLong {
            // The store's thread has other lookups to serve.
            stage.workers.run { [self] in
                if isCoded {
                    serveCoded(bytes, head, work, from: source)
                } else {
                    served(bytes, head, work, from: source)
                }
            }
        } else {
            served(bytes, head, work, from: source)
        }
    }

    /// Returns whether a stored body is validated before it is returned to a caller that expects an image.
    private func isChecked(_ head: ResponseHead) -> Bool {
        expectsImage && head.status == 200 && (plan.goal == .data || plan.goal == .response)
            && plan.request.method == "GET"
    }

    /// Ends the fetch with an error. If the stored bytes are its cause, they are removed.
    private func finish(rejecting error: LoadError, _ work: Work) {
        if error.rejectsBody || error.code == .badResponse { stage.storage.reject(work.cache?.entry) }
        finish(.failure(error), fromStore: true)
    }

    private static func body(of answer: ServedResponse, _ stored: Bytes?) -> Bytes {
        guard let stored, let range = answer.bytes, range.upperBound <= Int64(stored.count) else { return .empty }
        return stored.part(Int(range.lowerBound)..<Int(range.upperBound))
    }

    private func serveCoded(_ bytes: Bytes, _ head: ResponseHead, _ work: Work, from source: LoadSource) {
        work.exchange.verdict = undoCoding(of: head, work)
        if work.exchange.verdict == nil, let coded = work.response.coded {
            work.exchange.verdict = unsafe bytes.withUnsafeBytes { unsafe decode($0, by: coded, work, spills: true) }
            if work.exchange.verdict == nil {
                work.exchange.verdict = (finishCoding(work) ?? seal(work)).map { .failure($0) }
            }
            if case .failure(let error) = work.exchange.verdict { return finish(rejecting: error, work) }
            return served(work.response.body.take(), head, work, from: source)
        }
        if case .failure(let error) = work.exchange.verdict { return finish(rejecting: error, work) }
        served(bytes, head, work, from: source)
    }

    private func served(_ body: Bytes, _ head: ResponseHead, _ work: Work, from source: LoadSource) {
        if plan.goal == .info {
            do throws(LoadError) {
                let info = try stage.codecs.info(of: body)
                return finish(
                    .info(
                        RemoteImageInfo(
                            info: info, url: currentURL(work).string, contentLength: Int64(body.count), readBytes: 0,
                            source: source)))
            } catch {
                return finish(rejecting: error.naming(head), work)
            }
        }
        if let checksum = plan.checksum, let failure = Self.failure(of: body, checksum) {
            return finish(.failure(failure), fromStore: true)
        }
        var isVerified = false
        if isChecked(head) {
            do throws(LoadError) {
                isVerified = try stage.decoding.check(body, of: plan.request, decodes: plan.request.verifiesStoredImage)
            } catch {
                // Limits and missing codecs say nothing about the stored bytes; they are left to the caller.
                if error.rejectsBody {
                    return finish(rejecting: error.naming(head), work)
                }
            }
        }
        guard Int64(body.count) <= plan.request.limits.maximumBodyBytes else {
            return finish(
                .failure(
                    LoadError(
                        .tooLarge, stage: .fetch,
                        message: "The cached body has \(body.count) bytes; the limit is "
                            + "\(plan.request.limits.maximumBodyBytes). Raise maximumBodyBytes.")))
        }
        var response = LoadedResponse(
            head: head, body: body, url: currentURL(work).string, wireBytes: 0, source: source,
            redirectCount: work.redirected?.redirectCount ?? 0)
        response.isStale = work.isStale
        response.entry = work.cache?.entry
        if isVerified { response.isVerified = true }
        if let cache = work.cache, let stored = cache.representation { response.storable = storable(stored, cache) }
        if let lifetime = lifetime(fromStore: source, work) { response.lifetime = lifetime }
        finish(.response(response))
    }

    /// Ends the fetch with status 504 or an error: no stored response may be used, and no request may be sent.
    private func serveNothing(_ head: ResponseHead, _ work: Work) {
        let isRemoved = plan.purpose == .refetch
        guard plan.goal != .response || isRemoved else { return served(.empty, head, work, from: .disk) }
        let what =
            isRemoved
            ? "The cached response for this URL was not a usable image and was removed"
            : "No usable response for this URL is cached"
        finish(
            .failure(
                LoadError(
                    .notStored, stage: .fetch, message: what + ", and network access is disabled by the cache policy.",
                    status: head.status)))
    }

    /// Reads the body of a stored entry and serves it, after a 304 or if the origin failed.
    func readAndServe(_ answer: ServedResponse, _ work: Work, from source: LoadSource) {
        guard let store = stage.storage.store, let cache = work.cache else {
            preconditionFailure("a read without a store")
        }
        guard answer.bytes != nil else { return serve(answer, nil, work, from: source) }
        store.find(cache.key) { found in
            found.firstIndex { $0.id == answer.id }
        } completion: { [self] found, body in
            if endsAsCancelled(work) { return }
            guard let body else {
                if let refusal = work.refusal { return finish(.failure(refusal)) }
                // The entry has vanished meanwhile, so the request is sent again without conditions.
                cache.found = found
                return resend(work, as: CacheExchange())
            }
            serve(answer, body.bytes, work, from: source)
        }
    }
}

extension CacheDecision {
    fileprivate func lookUp(foundAny: Bool) -> ImagePipeline.Event.LookUp {
        switch self {
        case .serve(let answer): answer.isStale ? .stale : .fresh
        case .serveStale: .stale
        case .resume: .part
        case .exchange(let exchange) where !exchange.offered.isEmpty: .validator
        case .exchange, .fail: foundAny ? .useless : .nothing
        }
    }

    /// The position of the entry whose body is read in the same lookup.
    fileprivate var readPosition: Int? {
        if case .resume(let resumption) = self { return resumption.position }
        return chosenPosition
    }
}
