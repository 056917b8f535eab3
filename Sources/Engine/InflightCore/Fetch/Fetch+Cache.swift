import InflightConcurrency

// Stored responses in a fetch: the lookup before the origin is contacted, the decision about a response's head, and
// what is written at the end. The store calls back on its own thread; the fetch does nothing else meanwhile.

extension Fetch {
    // MARK: Lookup

    /// Returns the next exchange's transaction with the store; `nil` without a store, or for a URL without an origin.
    func makeCacheTransaction() -> CacheTransaction? {
        guard engine.storage.store != nil, currentURL.origin != nil else { return nil }
        let (key, request) = plan.stored(
            after: redirected, defaultFields: engine.defaultFields,
            fieldsExcludedFromKey: engine.fieldsExcludedFromKey
        )
        return CacheTransaction(key: key, request: request)
    }

    /// Returns whether a stored response could serve the next exchange.
    func looksUp(_ cache: CacheTransaction) -> Bool {
        cache.request.isReading && cache.request.policy != .noStore
    }

    /// Looks up stored responses, and continues with the result.
    func lookUp(_ cache: CacheTransaction) {
        guard let store = engine.storage.store else { preconditionFailure("a cache lookup without a store") }
        cache.lookUps += 1
        engine.storage.afterPendingChanges(cache.key) { [self] in lookUp(cache, in: store) }
    }

    private func lookUp(_ cache: CacheTransaction, in store: any ResponseStore) {
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
            if endsAsCancelled() { return }
            let decision = made.withLock { $0 } ?? Self.decide([], request, purpose, now)
            if decision.readPosition != nil, body == nil {
                // The body has vanished. Decide again from the remaining entries.
                if cache.lookUps < 4 { return lookUp(cache) }
                return ask(cache, CacheExchange())
            }
            apply(decision, cache, body?.bytes)
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

    private func apply(_ decision: CacheDecision, _ cache: CacheTransaction, _ body: Bytes?) {
        if case .exchange(let exchange) = decision, exchange.offered.isEmpty, mayConfirmImages(cache) {
            return lookForImages(cache, else: decision)
        }
        proceed(decision, cache, body)
    }

    private func proceed(_ decision: CacheDecision, _ cache: CacheTransaction, _ body: Bytes?) {
        emit(.lookedUp(decision.lookUp(foundAny: !cache.found.isEmpty)))
        switch decision {
        case .serve(let answer):
            serve(answer, body, from: .disk)
        case .serveStale(let answer, _):
            // Not if the last subscriber has left meanwhile.
            if engine.priority(of: id) != nil { engine.refresh(plan) }
            isBeingRevalidated = true
            serve(answer, body, from: .disk)
        case .fail(let head): serveNothing(head)
        case .exchange(let exchange): ask(cache, exchange)
        case .resume(let resumption):
            if let body { begin(resumption, body, cache) }
            ask(cache, CacheExchange())
        }
    }

    /// Moves the job to the lane of fetches, because the origin has to be contacted.
    private func ask(_ cache: CacheTransaction, _ exchange: CacheExchange) {
        cache.exchange = exchange
        isLookedUp = true
        let hasStaleResponse = engine.hasCircuitBreaker && staleResponse(cache) != nil
        let step = waitForTurn(in: .fetch, ahead: redirected != nil, hasStaleResponse: hasStaleResponse)
        engine.advance(step)
    }

    /// Makes the stored part the beginning of the body to receive.
    private func begin(_ resumption: Resumption, _ body: Bytes, _ cache: CacheTransaction) {
        beginBody(resumption.stored.head, nil, .byStatus)
        guard exchange.verdict == nil else { return forget() }
        response.expectedBytes = resumption.stored.totalLength
        guard unsafe body.withUnsafeBytes({ unsafe appendStored($0) }) == nil else { return forget() }
        exchange.receivedBytes = 0
        attempts.furthest = response.rawBytes
        self.resumption = resumption
        response.storedPart = resumption.id
    }

    private func forget() {
        exchange.verdict = nil
        forgetBody()
        endBody()
    }

    // MARK: Processed images

    /// Whether a 304 could make the processed images of all subscribers usable again, without the bytes being stored.
    private func mayConfirmImages(_ cache: CacheTransaction) -> Bool {
        plan.goal.makesImage && plan.purpose == .usual && redirected == nil && !cache.request.isConditional
            && plan.request.method == "GET" && !plan.request.cachePolicy.needsNewResult
            && !engine.anyTask(of: id) { !$0.storesProcessedImages }
    }

    /// Looks up the processed images that the subscribers want, to ask the origin whether they are still valid.
    private func lookForImages(_ cache: CacheTransaction, else decision: CacheDecision) {
        guard let store = engine.storage.store else { preconditionFailure("a cache lookup without a store") }
        let wanted = engine.tasks(of: id).map(\.confirmableIdentities)
        guard !wanted.isEmpty, !wanted.contains(nil) else { return proceed(decision, cache, nil) }
        let key = ProcessedImages.key(cache.key)
        engine.storage.afterPendingChanges(key) { [self] in
            store.find(key) { _ in
                nil
            } completion: { [self] images, _ in
                if endsAsCancelled() { return }
                let offered = ProcessedImages.toConfirm(
                    images, for: cache.request, wanted: wanted.compactMap(\.self))
                let exchange = CacheExchange(confirming: offered, for: cache.request)
                guard !exchange.offered.isEmpty else { return proceed(decision, cache, nil) }
                cache.images = offered
                cache.siblings = ProcessedImages.siblings(of: offered, among: images, for: cache.request)
                proceed(.exchange(exchange), cache, nil)
            }
        }
    }

    /// Ends the fetch after a 304 that confirms processed images: the subscribers look them up again.
    func confirmImages() {
        guard let cache else { preconditionFailure("a confirmation without a store") }
        for task in engine.tasks(of: id) { task.processedImagesWereConfirmed(at: cache.responseTime) }
        updateStore(isWhole: false) { [self] in
            finish(
                .failure(
                    LoadError(
                        .notStored, stage: .fetch,
                        message: "The server has confirmed the processed image. The original is not cached.")),
                fromStore: true)
        }
    }

    // MARK: Serving

    /// Serves a stored response. Ends the fetch, unless the response is a redirect.
    func serve(_ answer: ServedResponse, _ stored: Bytes?, from source: LoadSource) {
        let head = answer.head
        if !engine.fieldsExcludedFromKey.isEmpty { respectVary(head) }
        forgetBody()
        if let cache {
            cache.entry = StoredEntryReference(key: cache.key, id: answer.id)
            cache.representation = answer.stored
        }
        exchange.verdict = redirect(in: head) ?? failure(on: head)
        if case .redirect(let next) = exchange.verdict, let excess = excess(redirects: next.redirectCount) {
            exchange.verdict = .failure(excess)
        }
        switch exchange.verdict {
        case .redirect(let next):
            limitLifetime(by: cache?.representation)
            return engine.advance(redirect(to: next))
        case .failure(let error):
            // Later loads ask the server again.
            if error.code == .badRedirect { engine.storage.reject(cache?.entry) }
            return finish(.failure(error))
        default: break
        }
        response.head = head
        // A response that its origin has just validated is not stale, however soon it needs revalidation.
        isStale = answer.isStale && source != .revalidated
        let bytes = Self.body(of: answer, stored)
        emit(.readFromStore(bytes: Int64(bytes.count)))
        engine.log(.debug, "serving from cache") {
            [("url", currentURL.string), ("stale", "\(answer.isStale)")]
        }
        let isCoded = isCoded(head)
        let takesLong =
            isCoded || plan.checksum != nil
            || isChecked(head) && !checksQuickly(bytes)
        if takesLong {
            // The store's thread has other lookups to serve.
            engine.workers.run { [self] in
                if isCoded {
                    serveCoded(bytes, head, from: source)
                } else {
                    served(bytes, head, from: source)
                }
            }
        } else {
            served(bytes, head, from: source)
        }
    }

    /// Returns whether a stored body is validated before it is returned to a caller that expects an image.
    private func isChecked(_ head: ResponseHead) -> Bool {
        expectsImage && head.status == 200 && (plan.goal == .data || plan.goal == .response)
            && plan.request.method == "GET"
    }

    /// The formats whose structure is checked by a walk over a few markers or chunks.
    private static let quickFormats: Set<ImageFormat> = [.jpeg, .png, .gif, .webp]

    /// Returns whether ``check(_:)`` takes no longer than to pass the body to another thread.
    private func checksQuickly(_ body: Bytes) -> Bool {
        guard body.count <= 64 << 10, !plan.request.verifiesStoredImage, let format = codecs.detect(body) else {
            return false
        }
        // A JPEG without its end marker is decoded.
        if format == .jpeg, body[body.count - 2] != 0xFF || body[body.count - 1] != 0xD9 { return false }
        return Self.quickFormats.contains(format)
    }

    /// Checks that a body is an image: by its structure and, if the request says so and there is memory for that now,
    /// by its pixels. Throws if it is not.
    ///
    /// - Returns: whether its pixels were decoded.
    private func check(_ body: Bytes) throws(LoadError) -> Bool {
        _ = try codecs.validate(body)
        guard plan.request.verifiesStoredImage else { return false }
        var options = DecodeOptions()
        options.maximumPixels = plan.request.limits.maximumPixels
        options.maximumMemory = plan.request.limits.maximumDecodeBytes
        let needed = try codecs.memoryToVerify(body, options: options)
        guard engine.decodeLimits.takeNow(needed) else { return false }
        defer { engine.decodeLimits.release(needed) }
        let cancellation = CancellationFlag()
        try engine.decodeLimits.withinTime(cancellation) { () throws(LoadError) in
            try codecs.verify(body, options: options, cancellation: cancellation)
        }
        return true
    }

    /// Ends the fetch with an error. If the stored bytes are its cause, they are removed.
    private func finish(rejecting error: LoadError) {
        if error.rejectsBody || error.code == .badResponse { engine.storage.reject(cache?.entry) }
        finish(.failure(error), fromStore: true)
    }

    private static func body(of answer: ServedResponse, _ stored: Bytes?) -> Bytes {
        guard let stored, let range = answer.bytes, range.upperBound <= Int64(stored.count) else { return .empty }
        return stored.part(Int(range.lowerBound)..<Int(range.upperBound))
    }

    private func serveCoded(_ bytes: Bytes, _ head: ResponseHead, from source: LoadSource) {
        exchange.verdict = undoCoding(of: head)
        if exchange.verdict == nil, let coded = response.coded {
            exchange.verdict = unsafe bytes.withUnsafeBytes { unsafe decode($0, by: coded, spills: true) }
            if exchange.verdict == nil {
                exchange.verdict = (finishCoding() ?? seal()).map { .failure($0) }
            }
            if case .failure(let error) = exchange.verdict { return finish(rejecting: error) }
            return served(bodyBuffer.take(), head, from: source)
        }
        if case .failure(let error) = exchange.verdict { return finish(rejecting: error) }
        served(bytes, head, from: source)
    }

    private func served(_ body: Bytes, _ head: ResponseHead, from source: LoadSource) {
        if plan.goal == .info {
            do throws(LoadError) {
                let info = try codecs.info(of: body)
                return finish(
                    .info(
                        RemoteImageInfo(
                            info: info, url: currentURL.string, contentLength: Int64(body.count), readBytes: 0,
                            source: source)))
            } catch {
                return finish(rejecting: error.naming(head))
            }
        }
        if let checksum = plan.checksum, let failure = Self.failure(of: body, checksum) {
            return finish(.failure(failure), fromStore: true)
        }
        var isVerified = false
        if isChecked(head) {
            do throws(LoadError) {
                isVerified = try check(body)
            } catch {
                // Limits and missing codecs say nothing about the stored bytes; they are left to the caller.
                if error.rejectsBody {
                    return finish(rejecting: error.naming(head))
                }
            }
        }
        if let excess = excess(Int64(body.count), of: "The cached body") { return finish(.failure(excess)) }
        var response = LoadedResponse(
            head: head, body: body, url: currentURL.string, wireBytes: 0, source: source,
            redirectCount: redirected?.redirectCount ?? 0)
        response.isStale = isStale
        response.entry = cache?.entry
        if isVerified { response.isVerified = true }
        if let cache, let stored = cache.representation { response.storable = storable(stored, cache) }
        if let lifetime = lifetime(fromStore: source) { response.lifetime = lifetime }
        finish(.response(response))
    }

    /// Ends the fetch with status 504 or an error: no stored response may be used, and no request may be sent.
    private func serveNothing(_ head: ResponseHead) {
        let isRemoved = plan.purpose == .refetch
        guard plan.goal != .response || isRemoved else { return served(.empty, head, from: .disk) }
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
    func readAndServe(_ answer: ServedResponse, from source: LoadSource) {
        guard let store = engine.storage.store, let cache else {
            preconditionFailure("a read without a store")
        }
        guard answer.bytes != nil else { return serve(answer, nil, from: source) }
        store.find(cache.key) { found in
            found.firstIndex { $0.id == answer.id }
        } completion: { [self] found, body in
            if endsAsCancelled() { return }
            guard let body else {
                if let refusal = refusal { return finish(.failure(refusal)) }
                // The entry has vanished meanwhile, so the request is sent again without conditions.
                cache.found = found
                return resend(as: CacheExchange())
            }
            serve(answer, body.bytes, from: source)
        }
    }

    /// Returns the stored response that may be served if the origin cannot be reached (RFC 5861 section 4).
    func staleResponse(_ cache: CacheTransaction) -> ServedResponse? {
        ResponseCacheDecision.answer(
            after: .cannotConnect, found: cache.found, request: cache.request, now: clock.wallTime)
    }

    /// Serves a stored response instead of a request that was refused.
    ///
    /// - Returns: the end of the fetch if there is none.
    func serveStaleResponse(instead refusal: LoadError) -> JobStep? {
        job.result = nil
        self.refusal = refusal
        guard let cache, let stale = staleResponse(cache) else { return end(.failure(refusal)) }
        cache.changes = StoreChanges()
        readAndServe(stale, from: .disk)
        return nil
    }

    // MARK: The head of a response

    /// Compares the head of a response with the stored entries, and with the part of the body from an earlier exchange.
    ///
    /// - Returns: the head to continue with, unless the verdict is set.
    func judge(_ head: ResponseHead) -> ResponseHead {
        cache?.responseTime = exchange.responseTime
        // The changes that an earlier response required were for that response's own bytes.
        cache?.changes = StoreChanges()
        if let resumption = resumption.take(), let merged = resume(from: resumption, head) { return merged }
        guard exchange.verdict == nil, let cache else { return head }
        if head.status == 304, !cache.images.isEmpty, !cache.exchange.offered.isEmpty {
            judgeConfirmation(head, cache)
            return head
        }
        let outcome = ResponseCacheDecision.decide(
            head: head, exchange: cache.exchange, found: cache.found, request: cache.request,
            requestTime: cache.requestTime,
            responseTime: cache.responseTime)
        cache.changes = outcome.changes
        switch outcome {
        case .pass: break
        case .serve(let answer, _):
            exchange.verdict = .stored(answer, head.status == 304 ? .revalidated : .disk)
        case .resend(let other, _): exchange.verdict = .resend(other)
        }
        return head
    }

    /// Evaluates a 304 to a request with the validators of processed images.
    private func judgeConfirmation(_ head: ResponseHead, _ cache: CacheTransaction) {
        let outcome = ResponseCacheDecision.decide(
            head: head, exchange: cache.exchange, found: ProcessedImages.originals(of: cache.images),
            request: cache.request, requestTime: cache.requestTime, responseTime: cache.responseTime)
        var changes = outcome.changes
        for index in changes.updates.indices {
            let update = changes.updates[index]
            guard let image = cache.images.first(where: { $0.id == update.id }) else { continue }
            changes.updates[index].response = ProcessedImages.confirmed(image.response, by: update.response)
        }
        // A subscriber that has joined since the lookup may want one of these.
        let confirmed = changes.updates
        for image in cache.siblings
        where confirmed.contains(where: { image.response.sharesStrongValidator(with: $0.response.head.fields) }) {
            let updated = image.response.updated(
                by: head, requestTime: cache.requestTime, responseTime: cache.responseTime)
            let response = ProcessedImages.confirmed(image.response, by: updated)
            changes.updates.append(StoreChanges.Update(id: image.id, response: response))
        }
        cache.changes = changes
        exchange.verdict =
            switch outcome {
            case .serve: .confirmed
            // The 304 refers to none of the images.
            case .pass, .resend: .resend(CacheExchange())
            }
    }

    /// - Returns: the head of the complete response, if this response's body continues the earlier part.
    private func resume(from resumption: Resumption, _ head: ResponseHead) -> ResponseHead? {
        let requestTime = cache?.requestTime ?? clock.wallTime
        switch resumption.verdict(on: head, requestTime: requestTime, responseTime: clock.wallTime) {
        case .proceed(let incoming):
            cache?.changes.bodyStorage =
                cache.map { Self.bodyStorage(incoming, from: resumption, $0) } ?? .nothing
            response.continuation = incoming
            emit(.resumed(at: resumption.offset))
            response.expectedBytes = incoming.response.totalLength
            return incoming.response.head
        case .complete(let stored): exchange.verdict = .complete(stored)
        case .requestWhole: exchange.verdict = .resend(CacheExchange())
        case .restart, .answered: forgetBody()
        }
        return nil
    }

    /// Returns how to store a resumed body. A first part from memory has no selecting fields, and may not have been
    /// storable.
    private static func bodyStorage(
        _ incoming: IncomingResponse, from resumption: Resumption, _ cache: CacheTransaction
    ) -> StoreChanges.BodyStorage {
        let head = incoming.response.head
        guard StoragePolicy.mayStore(head, of: cache.request),
            let selecting = VaryFields.of(cache.request.fields, for: head)
        else { return .nothing }
        var kept = incoming
        kept.response.varyFields = selecting
        kept.response.head.fields = StoragePolicy.storableFields(of: head.fields)
        return .new(kept, replacing: [resumption.id].compactMap(\.self))
    }

    // MARK: Writing

    /// The minimum size of a part that is stored after its body broke off or lost its last subscriber.
    private static let minimumPartBytes: Int64 = 16 * 1024

    /// Whether to store the original bytes.
    var keepsOriginal: Bool {
        plan.request.hasDefaults || plan.request.storedRepresentation.keepsOriginal
            || engine.anyTask(of: id) { $0.storedRepresentation.keepsOriginal }
    }

    /// Returns the response whose images may be stored; `nil` after a redirect, or if no subscriber stores them.
    func storable(_ response: StoredResponse, _ cache: CacheTransaction) -> StorableResponse? {
        guard redirected == nil, engine.anyTask(of: id, { $0.storedRepresentation.processedOptions != nil })
        else { return nil }
        return StorableResponse(key: cache.key, request: cache.request, response: response)
    }

    /// Stores a long body while it is received, if its rest could be requested later.
    func storePart(_ cache: CacheTransaction) {
        guard let store = engine.storage.store, plan.goal != .info, plan.request.storedRepresentation.keepsOriginal,
            let incoming = cache.incoming, incoming.response.bodyRange.isEmpty, !bodyBuffer.hasSpilled,
            response.downloadFolder == nil, incoming.response.hasStrongValidator
        else { return }
        let isCoded = response.coded != nil
        let count = isCoded ? cache.raw.count : bodyBuffer.count
        guard count >= PartialBodyWriter.step else { return }
        let partWriter =
            cache.partWriter ?? PartialBodyWriter(store, engine.storage, key: cache.key, incoming: incoming)
        cache.partWriter = partWriter
        partWriter.noticed(count) { start in
            isCoded ? cache.raw.copy(from: start) : bodyBuffer.copy(from: start)
        }
    }

    /// Applies the changes that the response requires to the store. Consumes the body, so nothing else may need it.
    func updateStore(isWhole: Bool, completion: (@Sendable () -> Void)? = nil) {
        guard let cache else {
            completion?()
            return
        }
        if isBodyInFile {
            cache.changes.bodyStorage = .nothing
            return updateStore(cache, .empty, isWhole: isWhole, completion: completion)
        }
        let hasOwnBody = response.coded != nil || exchange.verdict != nil
        updateStore(
            cache, hasOwnBody ? cache.raw.take() : bodyBuffer.take(), isWhole: isWhole,
            completion: completion)
    }

    /// Applies the changes that the response requires to the store.
    ///
    /// - Parameters:
    ///   - body: all received bytes of the body, before content decoding.
    ///   - isWhole: whether the exchange ended without an error.
    ///   - completion: called when all changes are done; at once if there are none.
    func updateStore(
        _ cache: CacheTransaction, _ body: Bytes, isWhole: Bool, completion: (@Sendable () -> Void)? = nil
    ) {
        var changes = cache.takeChanges()
        if !keepsOriginal { changes.bodyStorage = .nothing }
        let keys = changes.isEmpty ? [] : [cache.key] + changes.invalidatedKeys
        let group = StoreGroup(engine.storage, changing: keys, completion)
        defer { group.seal() }
        guard let store = engine.storage.store else { return }
        let part = changes.storesNewEntry ? cache.partWriter?.end() : nil
        let ended = EndedBody(
            count: body.count, receivedBytes: exchange.receivedBytes,
            bytesBeforeRest: resumption == nil ? nil : response.rawBytes, isWhole: isWhole)
        let isDelimited = response.head?.delimitsBody ?? true
        let writes = changes.writes(of: ended, part: part) {
            isWorthStoring($0, body, isWhole: isWhole, isDelimited: isDelimited)
        }
        for write in writes { perform(write, body, cache, store, group) }
    }

    private func perform(
        _ write: CacheWrite, _ body: Bytes, _ cache: CacheTransaction, _ store: any ResponseStore, _ group: StoreGroup
    ) {
        let (entry, key, request) = (cache.entry, cache.key, cache.request)
        switch write {
        case .update(let id, let response): group { done in store.update(id, to: response) { _ in done() } }
        case .invalidate(let key): group { store.removeAll(under: key, completion: $0) }
        case .remove(let ids): group { store.remove(ids, completion: $0) }
        case .keep(let response, let replaced, let part):
            group(bytes: body.count) { done in
                checkingStructure(of: body, response) { [self] isImage in
                    guard isImage else { return part.map { store.remove([$0], completion: done) } ?? done() }
                    let stored = reportStoring(body.count)
                    let isOld = Guarded(false)
                    store.keep(response, body: body, under: key, replacing: replaced) { found in
                        let others = CacheCandidates.replaced(
                            by: response, among: found, for: request, except: replaced)
                        isOld.withLock { $0 = others == nil }
                        return others
                    } completion: { id in
                        stored()
                        if let part, isOld.withLock({ $0 }) { return store.remove([part], completion: done) }
                        guard let id, let entry, entry.kept(as: id) else { return done() }
                        store.remove([id], completion: done)
                    }
                }
            }
        case .extend(let id, let leftOut, let response, let offset):
            let rest = body.part(leftOut..<body.count)
            group(bytes: rest.count) { done in
                let stored = reportStoring(rest.count)
                store.extend(id, by: rest, at: offset) { isKept in
                    stored()
                    if let entry, entry.kept(as: id) { return store.remove([id], completion: done) }
                    guard isKept else { return done() }
                    store.update(id, to: response) { _ in
                        let old = Guarded([StoredEntry.ID]())
                        store.find(key) { found in
                            let others = CacheCandidates.replaced(
                                by: response, among: found, for: request, except: [id])
                            old.withLock { $0 = others ?? [id] }
                            return nil
                        } completion: { _, _ in
                            store.remove(old.withLock { $0 }, completion: done)
                        }
                    }
                }
            }
        }
    }

    /// Validates the structure of a body before it is stored as an image, off the transport's thread. If pixels are
    /// requested, their decoder does so and has the entry removed.
    private func checkingStructure(
        of body: Bytes, _ response: StoredResponse, then store: @escaping @Sendable (_ isImage: Bool) -> Void
    ) {
        guard !plan.goal.makesImage, expectsImage, response.isComplete, response.head.status == 200,
            !engine.codings.isCoded(response.head.fields)
        else { return store(true) }
        engine.workers.run { [self] in store((try? codecs.validate(body)) != nil) }
    }

    /// Whether the caller states that the requested bytes are an image.
    var expectsImage: Bool { !plan.request.hasDefaults && plan.request.expectsImage }

    /// Returns whether to store the body. A captive portal's page has status 200 too, so if an image is requested, only
    /// an image is stored.
    private func isWorthStoring(
        _ response: StoredResponse, _ body: Bytes, isWhole: Bool, isDelimited: Bool
    ) -> Bool {
        guard plan.goal != .info, Int64(body.count) == Int64(response.bodyRange.count) else { return false }
        // A requested range is stored like a complete body, however short it is.
        guard response.isComplete else { return isWhole || Int64(body.count) >= Self.minimumPartBytes }
        guard plan.requiresImage, response.head.status == 200, !engine.codings.isCoded(response.head.fields) else {
            return true
        }
        do throws(LoadError) {
            if !isDelimited { try codecs.checkEndMarker(of: body) }
            _ = try codecs.info(of: body)
            return true
        } catch {
            return false
        }
    }

    // MARK: Images in memory

    /// Updates the freshness of images in memory from a response.
    ///
    /// - Parameter response: the response with its times; `nil` for a stored response that may be stale.
    /// - Returns: the lifetime of images made from it; `nil` if no image is made, or HTTP's rules do not apply.
    func lifetime(
        of response: @autoclosure () -> StoredResponse?, from source: LifetimeTable.Source
    ) -> ImageLifetime? {
        let makesImage =
            plan.goal.makesImage || plan.purpose == .revalidation(ofImage: true)
            || engine.anyTask(of: id) { $0.goal.makesImage }
        guard makesImage || engine.images.lifetimes.withLock({ $0.count > 0 }) else { return nil }
        let response = response()
        // A custom scheme may respond as HTTP does. A file does not.
        guard currentURL.origin != nil || response.map({ $0.head.version != .none }) ?? false else { return nil }
        let key = plan.resource(after: redirected, fieldsExcludedFromKey: engine.fieldsExcludedFromKey)
        guard makesImage else {
            // A newer response concerns the images in memory even if this fetch makes none.
            if let response, source != .stored {
                engine.images.lifetimes.withLock { $0.noticed(response, for: key, from: source) }
            }
            return nil
        }
        guard let response else { return .expired }
        let lifetime = engine.images.lifetimes.withLock { $0.received(response, for: key, from: source) }
        // Later loads have the same keys, but may be for another user.
        if hasSentOtherCookies { return .onlyForTasksInFlight }
        return redirectExpiry.map { ImageLifetime(of: lifetime, redirectedUntil: $0) } ?? lifetime
    }

    /// Updates the freshness of images in memory from a stored response.
    func lifetime(fromStore source: LoadSource) -> ImageLifetime? {
        var response = isStale ? nil : cache?.representation
        guard source == .revalidated else { return lifetime(of: response, from: .stored) }
        if let newer = exchange.head, CacheControl(newer.fields).noStore {
            response?.head.fields.set("Cache-Control", "no-store")
        }
        return lifetime(of: response, from: .revalidated)
    }

    /// Returns a response whose body has just been received, with its times.
    func received(_ head: ResponseHead) -> StoredResponse {
        StoredResponse(
            method: plan.request.method, url: currentURL.string, varyFields: HTTPFields(), head: head,
            requestTime: exchange.requestTime, responseTime: exchange.responseTime, bodyRange: 0..<0,
            totalLength: nil)
    }

    /// Limits the freshness of images behind a redirect to that of the redirect.
    func limitLifetime(by redirect: StoredResponse?) {
        let expiry = redirect.map { MemoryFreshness(of: $0).expiry } ?? WallTime(milliseconds: 0)
        redirectExpiry = min(redirectExpiry ?? expiry, expiry)
    }

    /// Marks images in memory stale as soon as a head shows that a resource was changed or is gone.
    func noteInvalidation(by head: ResponseHead) {
        let isGone = head.status == 404 || head.status == 410
        let isSafe = plan.request.hasDefaults || Invalidation.isSafe(plan.request.method)
        guard isGone || !isSafe, head.version != .none, engine.images.lifetimes.withLock({ $0.count > 0 })
        else { return }
        let urls =
            isSafe
            ? []
            : Invalidation.urls(
                head,
                of: plan.stored(
                    after: redirected, defaultFields: engine.defaultFields,
                    fieldsExcludedFromKey: engine.fieldsExcludedFromKey
                ).1)
        let key = plan.resource(after: redirected, fieldsExcludedFromKey: engine.fieldsExcludedFromKey)
        engine.images.lifetimes.withLock { table in
            if isGone { table.superseded(key) }
            for url in urls { table.invalidated(url) }
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

/// The reads and writes of one fetch in the store, for one URL of its redirect chain.
// Unchecked: guarded like the fetch. Callbacks of the store access it before the exchange and after its end,
// and callbacks of the transport in between.
final class CacheTransaction: @unchecked Sendable {
    let key: StoreKey
    let request: CachingRequest
    /// The stored entries, as they were found.
    var found: [StoredEntry] = []
    /// The processed images whose responses the exchange asks the origin to confirm, instead of those in ``found``.
    var images: [StoredEntry] = []
    /// The other processed images that are valid as long as ``images`` are.
    var siblings: [StoredEntry] = []
    /// The number of lookups. Another one follows each time a body has vanished.
    var lookUps = 0
    /// The changes to the request's header fields for this exchange.
    var exchange = CacheExchange()
    var requestTime = WallTime(milliseconds: 0)
    var responseTime = WallTime(milliseconds: 0)
    /// The stored response that was served to the caller last.
    var representation: StoredResponse?
    /// The entry that holds the body, or will hold it.
    var entry: StoredEntryReference?
    /// The changes of the store that the response requires.
    var changes = StoreChanges()
    /// The body as received from its first byte on, if the fetch's own buffer does not hold the same bytes.
    let raw = BodyBuffer()
    /// Stores the first part of a long body while the rest is received.
    var partWriter: PartialBodyWriter?

    init(key: StoreKey, request: CachingRequest) {
        self.key = key
        self.request = request
    }

    /// Returns the changes of the store that the response requires, and resets them.
    func takeChanges() -> StoreChanges {
        defer { changes = StoreChanges() }
        return changes
    }

    /// The response to store when its body is received; `nil` if it is not stored.
    var incoming: IncomingResponse? {
        switch changes.bodyStorage {
        case .nothing: nil
        case .new(let incoming, _), .extending(_, let incoming, _): incoming
        }
    }
}

/// Stores the first part of a long body while the rest is received, so that it outlives the process.
///
/// One write is in flight at a time. Bytes that arrive meanwhile wait for the next write, so a slow disk reduces the
/// number of writes and takes no memory. The complete body replaces the part.
// Unchecked: all mutable state is accessed only while the object's stripe of locks is held.
final class PartialBodyWriter: @unchecked Sendable {
    /// The number of new bytes after which a part is written.
    static let step = 512 * 1024

    private let store: any ResponseStore
    /// Tracks the writes, so that waiting for the store includes them.
    private let storage: ResponseStorage
    private let key: StoreKey
    private let incoming: IncomingResponse
    private var id: StoredEntry.ID?
    private var keptBytes = 0
    private var isWriting = false
    private var isOver = false

    /// - Parameter incoming: the response to store, as it is before its first byte.
    init(_ store: any ResponseStore, _ storage: ResponseStorage, key: StoreKey, incoming: IncomingResponse) {
        self.store = store
        self.storage = storage
        self.key = key
        self.incoming = incoming
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        LockStripes.stripe(for: self).lock.withLock(body)
    }

    /// The body has grown to this number of bytes.
    ///
    /// - Parameter copy: returns the bytes from an offset on.
    func noticed(_ count: Int, copy: (Int) -> Bytes) {
        let start: Int? = locked {
            guard !isWriting, !isOver, count - keptBytes >= Self.step else { return nil }
            isWriting = true
            return keptBytes
        }
        guard let start else { return }
        let bytes = copy(start)
        let isTaken = storage.submit(bytes: bytes.count) { done in
            write(bytes, at: start) { [self] id in
                // Submit follow-up work before this write counts as done, so that a wait for the store covers both.
                wrote(id, upTo: start + bytes.count)
                done()
            }
        }
        // Too many bytes already wait for the store. A later call may succeed.
        if !isTaken { locked { isWriting = false } }
    }

    private func write(_ bytes: Bytes, at start: Int, completion: @escaping @Sendable (StoredEntry.ID?) -> Void) {
        if let id = locked({ self.id }) {
            store.extend(id, by: bytes, at: Int64(start)) { isKept in completion(isKept ? id : nil) }
        } else if let part = incoming.ended(after: Int64(bytes.count), isWhole: false) {
            store.keep(part, body: bytes, under: key, replacing: [], completion: completion)
        } else {
            completion(nil)
        }
    }

    private func wrote(_ id: StoredEntry.ID?, upTo count: Int) {
        let isLate = locked {
            isWriting = false
            self.id = id
            keptBytes = count
            // After the store has rejected a part, no other part of this body is written.
            if id == nil { isOver = true }
            return isOver
        }
        if isLate, let id { storage.submit { store.remove([id], completion: $0) } }
    }

    /// Stops writing, and returns the entry that holds the part, if it is already stored. An entry that is still being
    /// written is removed as soon as it is stored.
    func end() -> StoredEntry.ID? {
        locked {
            isOver = true
            return isWriting ? nil : id
        }
    }
}
