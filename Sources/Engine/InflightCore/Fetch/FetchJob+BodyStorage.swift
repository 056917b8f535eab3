import InflightConcurrency

// The effect of a response on the store, and the storage of its body.

extension FetchJob {
    /// Whether to store the original bytes.
    var keepsOriginal: Bool {
        plan.request.hasDefaults || plan.request.storedRepresentation.keepsOriginal
            || scheduler.anyTask(of: id) { $0.storedRepresentation.keepsOriginal }
    }

    /// Returns the response whose images may be stored; `nil` after a redirect, or if no subscriber stores them.
    func storable(_ response: StoredResponse, _ cache: CacheTransaction) -> StorableResponse? {
        guard work?.redirected == nil, scheduler.anyTask(of: id, { $0.storedRepresentation.processedOptions != nil })
        else { return nil }
        return StorableResponse(key: cache.key, request: cache.request, response: response)
    }

    /// The minimum size of a part that is stored after its body broke off or lost its last subscriber.
    private static let minimumPartBytes: Int64 = 16 * 1024

    // MARK: The head

    /// Compares the head of a response with the stored entries, and with the part of the body from an earlier exchange.
    ///
    /// - Returns: the head to continue with, unless the work's verdict is set.
    func judge(_ head: ResponseHead, _ work: Work) -> ResponseHead {
        work.cache?.responseTime = work.exchange.responseTime
        // The changes that an earlier response required were for that response's own bytes.
        work.cache?.changes = StoreChanges()
        if let resumption = work.resumption.take(), let merged = resume(from: resumption, head, work) { return merged }
        guard work.exchange.verdict == nil, let cache = work.cache else { return head }
        if head.status == 304, !cache.images.isEmpty, !cache.exchange.offered.isEmpty {
            judgeConfirmation(head, work, cache)
            return head
        }
        let outcome = ResponseCacheDecision.decide(
            head: head, exchange: cache.exchange, found: cache.found, request: cache.request,
            requestTime: cache.requestTime,
            responseTime: cache.responseTime)
        cache.changes = outcome.changes
        switch outcome {
        case .pass: break
        case .serve(let answer, let changes):
            cache.representation =
                changes.updates.first { $0.id == answer.id }?.response ?? cache.found[answer.position].response
            work.exchange.verdict = .stored(answer, head.status == 304 ? .revalidated : .disk)
        case .exchangeAgain(let exchange, _): work.exchange.verdict = .exchangeAgain(exchange)
        }
        return head
    }

    /// Evaluates a 304 to a request with the validators of processed images.
    private func judgeConfirmation(_ head: ResponseHead, _ work: Work, _ cache: CacheTransaction) {
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
        work.exchange.verdict =
            switch outcome {
            case .serve: .confirmed
            // The 304 refers to none of the images.
            case .pass, .exchangeAgain: .exchangeAgain(CacheExchange())
            }
    }

    /// - Returns: the head of the complete response, if this response's body continues the earlier part.
    private func resume(from resumption: Resumption, _ head: ResponseHead, _ work: Work) -> ResponseHead? {
        let requestTime = work.cache?.requestTime ?? clock.wallTime
        switch resumption.verdict(on: head, requestTime: requestTime, responseTime: clock.wallTime) {
        case .proceed(let incoming):
            work.cache?.changes.bodyStorage =
                work.cache.map { Self.bodyStorage(incoming, from: resumption, $0) } ?? .nothing
            work.response.continuation = incoming
            tell(.resumed(at: resumption.offset))
            work.response.expectedBytes = incoming.response.totalLength
            return incoming.response.head
        case .complete(let stored): work.exchange.verdict = .complete(stored)
        case .requestWhole: work.exchange.verdict = .exchangeAgain(CacheExchange())
        case .restart, .answered: work.forgetBody()
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

    // MARK: The body

    /// Appends received bytes to the body, and to the undecoded copy for the store.
    ///
    /// - Parameter spills: whether all of them are taken at once, because nothing can pause their source.
    /// - Returns: the verdict that makes the rest irrelevant, if any.
    func take(_ bytes: UnsafeRawBufferPointer, _ work: Work, spills: Bool = false) -> Verdict? {
        work.response.rawBytes += Int64(bytes.count)
        work.exchange.receivedBytes += Int64(bytes.count)
        if let coded = work.response.coded {
            unsafe work.cache?.raw.append(bytes)
            return unsafe decode(bytes, by: coded, work, spills: spills)
        }
        let limit = plan.request.limits.maximumBodyBytes
        guard Int64(bytes.count) <= limit - Int64(work.response.body.count) else {
            return .failure(
                LoadError(
                    .tooLarge, stage: .fetch,
                    message:
                        "The body exceeds the limit of \(limit) bytes. Raise maximumBodyBytes if you trust the server."
                ))
        }
        unsafe work.response.body.append(bytes)
        return nil
    }

    /// Stores a long body while it is received, if its rest could be requested later.
    func storePart(_ work: Work, _ cache: CacheTransaction) {
        guard let store = stage.storage.store, plan.goal != .info, plan.request.storedRepresentation.keepsOriginal,
            let incoming = cache.incoming, incoming.response.bodyRange.isEmpty, !work.response.body.hasSpilled,
            incoming.response.hasStrongValidator
        else { return }
        let isCoded = work.response.coded != nil
        let count = isCoded ? cache.raw.count : work.response.body.count
        guard count >= PartialBodyWriter.step else { return }
        let partWriter = cache.partWriter ?? PartialBodyWriter(store, stage.storage, key: cache.key, incoming: incoming)
        cache.partWriter = partWriter
        partWriter.noticed(count) { start in
            isCoded ? cache.raw.copy(from: start) : work.response.body.copy(from: start)
        }
    }

    // MARK: The end

    /// Applies the changes that the response requires to the store. Consumes the body, so nothing else may need it.
    func updateStore(_ work: Work, isWhole: Bool, completion: (@Sendable () -> Void)? = nil) {
        guard let cache = work.cache else {
            completion?()
            return
        }
        let hasOwnBody = work.response.coded != nil || work.exchange.verdict != nil
        updateStore(
            work, cache, hasOwnBody ? cache.raw.take() : work.response.body.take(), isWhole: isWhole,
            completion: completion)
    }

    /// Applies the changes that the response requires to the store.
    ///
    /// - Parameters:
    ///   - body: all received bytes of the body, before content decoding.
    ///   - isWhole: whether the exchange ended without an error.
    ///   - completion: called when all changes are done; at once if there are none.
    func updateStore(
        _ work: Work, _ cache: CacheTransaction, _ body: Bytes, isWhole: Bool, completion: (@Sendable () -> Void)? = nil
    ) {
        var changes = cache.takeChanges()
        if !keepsOriginal { changes.bodyStorage = .nothing }
        let keys = changes.isEmpty ? [] : [cache.key] + changes.invalidatedKeys
        let group = StoreGroup(stage.storage, changing: keys, completion)
        defer { group.seal() }
        guard let store = stage.storage.store else { return }
        let part = changes.storesNewEntry ? cache.partWriter?.end() : nil
        let ended = EndedBody(
            count: body.count, receivedBytes: work.exchange.receivedBytes,
            bytesBeforeRest: work.resumption == nil ? nil : work.response.rawBytes, isWhole: isWhole)
        let isDelimited = work.response.head?.delimitsBody ?? true
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
        guard plan.goal != .image, expectsImage, response.isComplete, response.head.status == 200,
            !stage.codings.isCoded(response.head.fields)
        else { return store(true) }
        stage.workers.run { [self] in store((try? stage.codecs.validate(body)) != nil) }
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
        guard plan.requiresImage, response.head.status == 200, !stage.codings.isCoded(response.head.fields) else {
            return true
        }
        do throws(LoadError) {
            if !isDelimited { try stage.codecs.checkEndMarker(of: body) }
            _ = try stage.codecs.info(of: body)
            return true
        } catch {
            return false
        }
    }
}
