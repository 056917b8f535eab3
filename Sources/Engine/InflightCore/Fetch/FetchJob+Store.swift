import InflightConcurrency

// What a fetch does before it asks an origin: it looks whether the answer is stored. The store calls back on a thread of
// its own; nothing else of the job goes on meanwhile.

extension FetchJob {
    /// What the exchange that is next has to do with what is stored; `nil` where there is no store.
    func makeCacheTransaction(_ work: Work) -> CacheTransaction? {
        guard engine.store != nil, currentURL(work).origin != nil else { return nil }
        let (key, request) = plan.stored(
            after: work.redirected, usualFields: engine.usualFields, harmlessFields: engine.harmlessFields)
        return CacheTransaction(key: key, request: request)
    }

    /// Whether what is stored could answer the exchange that is next.
    func looksUp(_ cache: CacheTransaction) -> Bool {
        cache.request.isReading && cache.request.policy != .noStore
    }

    /// Looks for what is stored, and goes on from that.
    func lookUp(_ work: Work, _ cache: CacheTransaction) {
        guard let store = engine.store else { preconditionFailure("there is no store to look into") }
        cache.lookUps += 1
        engine.storing.whenSettled(cache.key) { [self] in lookUp(work, cache, in: store) }
    }

    private func lookUp(_ work: Work, _ cache: CacheTransaction, in store: any ResponseStore) {
        let purpose = plan.purpose
        let request = cache.request
        let now = engine.wallTime
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
                // It has vanished: what is left decides anew.
                if cache.lookUps < 4 { return lookUp(work, cache) }
                return ask(work, cache, CacheExchange())
            }
            goOn(work, cache, decision, body?.bytes)
        }
    }

    private static func decide(
        _ found: [StoredEntry], _ request: CachingRequest, _ purpose: RequestPlan.Purpose, _ now: WallTime
    ) -> CacheDecision {
        if purpose == .refetch {
            let control = CacheControl(request: request.fields)
            guard request.mayAskOrigin(control) else { return .fail(CacheDecision.gatewayTimeout) }
            // A cache on the way may have the same bytes.
            return .exchange(CacheExchange(reloading: request, control))
        }
        let decision = CacheDecision.decide(found: found, request: request, now: now)
        // What is asked for behind a stale answer is the answer that follows it.
        if case .revalidation = purpose, case .serveStale(_, let exchange) = decision { return .exchange(exchange) }
        return decision
    }

    private func goOn(_ work: Work, _ cache: CacheTransaction, _ decision: CacheDecision, _ body: Bytes?) {
        tell(.lookedUp(decision.lookUp(foundAny: !cache.found.isEmpty)))
        switch decision {
        case .serve(let answer):
            cache.representation = cache.found[answer.position].response
            serve(answer, body, work, from: .disk)
        case .serveStale(let answer, _):
            engine.revalidate(plan)
            work.isFollowed = true
            serve(answer, body, work, from: .disk)
        case .fail(let head): serveNothing(head, work)
        case .exchange(let exchange): ask(work, cache, exchange)
        case .resume(let resumption):
            if let body { begin(resumption, body, work, cache) }
            ask(work, cache, CacheExchange())
        }
    }

    /// The origin has to be asked: in the lane of fetches.
    private func ask(_ work: Work, _ cache: CacheTransaction, _ exchange: CacheExchange) {
        cache.exchange = exchange
        work.isLookedUp = true
        let hasStandIn = engine.hasCircuitBreaker && standIn(cache) != nil
        let step = waitForTurn(work, in: .fetch, ahead: work.redirected != nil, hasStandIn: hasStandIn)
        engine.jobsCameOn(CollectionOfOne(step))
    }

    /// Makes what is stored of a body the beginning of the one that comes.
    private func begin(_ resumption: Resumption, _ body: Bytes, _ work: Work, _ cache: CacheTransaction) {
        goOn(work, resumption.stored.head, nil, .byStatus)
        guard work.exchange.verdict == nil else { return forget(work) }
        work.response.expectedBytes = resumption.stored.totalLength
        guard unsafe body.withUnsafeBytes({ unsafe takeStored($0, work) }) == nil else { return forget(work) }
        work.exchange.receivedBytes = 0
        work.resumption = resumption
        work.response.storedPart = resumption.id
    }

    private func forget(_ work: Work) {
        work.exchange.verdict = nil
        work.forgetBody()
        endBody(work)
    }

    // MARK: Serving

    /// Ends the fetch with what is stored.
    func serve(_ answer: StoredAnswer, _ stored: Bytes?, _ work: Work, from source: LoadSource) {
        let head = answer.head
        if !engine.harmlessFields.isEmpty { respectVary(head) }
        work.forgetBody()
        work.exchange.verdict = follow(head, work) ?? failure(on: head)
        switch work.exchange.verdict {
        case .redirect(let next):
            limitLifetime(by: work.cache?.representation, work)
            return engine.jobsCameOn(CollectionOfOne(redirect(work, to: next)))
        case .failure(let error): return finish(.failure(error))
        default: break
        }
        work.response.head = head
        // What its origin has just called good is good now, however soon it is to be asked about again.
        work.isStale = answer.isStale && source != .revalidated
        if let cache = work.cache { cache.entry = StoredEntryReference(key: cache.key, id: answer.id) }
        let bytes = Self.body(of: answer, stored)
        tell(.readFromStore(bytes: Int64(bytes.count)))
        engine.log(.debug, "answer is stored") { [("url", currentURL(work).string), ("stale", "\(answer.isStale)")] }
        // A part is shown as it is stored: its coding is that of the whole.
        let isCoded = head.fields.contains("content-encoding") && head.status != 206 && !wantsCoded
        if isCoded && engine.codings.accepted != nil || plan.checksum != nil || isChecked(head) {
            // Not on the store's thread: it has others to serve.
            engine.workers.run { [self] in
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

    /// Whether what is stored is looked through before it is given to somebody who expects an image.
    private func isChecked(_ head: ResponseHead) -> Bool {
        expectsImage && head.status == 200 && (plan.goal == .data || plan.goal == .response)
            && plan.request.method == "GET"
    }

    /// Ends with an error that is the fault of the stored bytes: they are removed.
    private func finish(rejecting error: LoadError, _ work: Work) {
        if error.rejectsBody || error.code == .badResponse { engine.reject(work.cache?.entry) }
        finish(.failure(error), ofStored: true)
    }

    private static func body(of answer: StoredAnswer, _ stored: Bytes?) -> Bytes {
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
                let info = try engine.codecs.info(of: body)
                return finish(
                    .info(
                        RemoteImageInfo(
                            info: info, url: currentURL(work).string, contentLength: Int64(body.count), readBytes: 0,
                            source: source)))
            } catch {
                return finish(rejecting: error.naming(contentType: head.fields["content-type"]), work)
            }
        }
        if let checksum = plan.checksum, let failure = Self.failure(of: body, checksum) {
            return finish(.failure(failure), ofStored: true)
        }
        var isVerified = false
        if isChecked(head) {
            do throws(LoadError) {
                isVerified = try engine.check(body, of: plan.request, decodes: plan.request.verifiesStoredImage)
            } catch {
                // A limit and a missing codec are the caller's to judge.
                if error.rejectsBody {
                    return finish(rejecting: error.naming(contentType: head.fields["content-type"]), work)
                }
            }
        }
        guard Int64(body.count) <= plan.request.limits.maximumBodyBytes else {
            return finish(
                .failure(
                    LoadError(
                        .tooLarge, stage: .fetch,
                        message: "The stored body has \(body.count) bytes, and the limit is "
                            + "\(plan.request.limits.maximumBodyBytes). Raise the limit.")))
        }
        var response = LoadedResponse(
            head: head, body: body, url: currentURL(work).string, wireBytes: 0, source: source,
            redirectCount: work.redirected?.redirectCount ?? 0)
        response.isStale = work.isStale
        response.entry = work.cache?.entry
        if isVerified { response.isVerified = true }
        if let cache = work.cache, let stored = cache.representation { response.storable = storable(stored, cache) }
        if let lifetime = lifetime(ofStored: source, work) { response.lifetime = lifetime }
        finish(.response(response))
    }

    /// Nothing that is stored may be used, and nobody may be asked.
    private func serveNothing(_ head: ResponseHead, _ work: Work) {
        let isRemoved = plan.purpose == .refetch
        guard plan.goal != .response || isRemoved else { return served(.empty, head, work, from: .disk) }
        let what =
            isRemoved
            ? "What was stored for this URL is no image that can be used, and was removed"
            : "Nothing that may be used is stored for this URL"
        finish(
            .failure(
                LoadError(
                    .notStored, stage: .fetch, message: what + ", and asking the server was not allowed. Allow it.",
                    status: head.status)))
    }

    /// Ends the fetch with an entry whose body is to be read yet: after a 304, or where the origin failed.
    func readAndServe(_ answer: StoredAnswer, _ work: Work, from source: LoadSource) {
        guard let store = engine.store, let cache = work.cache else {
            preconditionFailure("there is no store to read from")
        }
        guard answer.bytes != nil else { return serve(answer, nil, work, from: source) }
        store.find(cache.key) { found in
            found.firstIndex { $0.id == answer.id }
        } completion: { [self] found, body in
            if endsAsCancelled(work) { return }
            guard let body else {
                if let refusal = work.refusal { return finish(.failure(refusal)) }
                // It went in the meantime: asked once more, without conditions.
                cache.found = found
                return resend(work, as: CacheExchange())
            }
            serve(answer, body.bytes, work, from: source)
        }
    }
}

extension CacheDecision {
    fileprivate func lookUp(foundAny: Bool) -> PipelineEvent.LookUp {
        switch self {
        case .serve(let answer): answer.isStale ? .stale : .fresh
        case .serveStale: .stale
        case .resume: .part
        case .exchange(let exchange) where !exchange.offered.isEmpty: .validator
        case .exchange, .fail: foundAny ? .useless : .nothing
        }
    }

    /// The entry whose body is to be read in the same turn.
    fileprivate var readPosition: Int? {
        if case .resume(let resumption) = self { return resumption.position }
        return chosenPosition
    }
}
