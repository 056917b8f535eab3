import InflightConcurrency

// What an answer means for what is stored, and how its body is kept.

extension FetchJob {
    /// Whether the bytes themselves are to be kept.
    var keepsOriginal: Bool {
        plan.request.isUsual || plan.request.storedForm.keepsOriginal || engine.isWanted(id, \.keepsOriginal)
    }

    /// What may be kept of a picture that is made of this answer.
    func storable(_ response: StoredResponse, _ cache: CacheTransaction) -> StorableAnswer? {
        guard work?.redirected == nil, engine.isWanted(id, { $0.processedOptions != nil }) else { return nil }
        return StorableAnswer(key: cache.key, request: cache.request, response: response)
    }

    /// What came of a body that broke off, or that nobody waited for, is not worth a write below this.
    private static let leastPartBytes: Int64 = 16 * 1024

    // MARK: The head

    /// What the head of an answer means beside what is stored, and beside what an earlier exchange has left of the body.
    ///
    /// - Returns: the head to go on with; the work's verdict says where there is none.
    func judge(_ head: ResponseHead, _ work: Work) -> ResponseHead {
        work.cache?.responseTime = work.exchange.responseTime
        // What an earlier answer meant for the store was meant for its own bytes.
        work.cache?.changes = StoreChanges()
        if let resumption = work.resumption.take(), let merged = goOn(from: resumption, head, work) { return merged }
        guard work.exchange.verdict == nil, let cache = work.cache else { return head }
        let outcome = CacheOutcome.decide(
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
        case .exchangeAgain(let exchange, _): work.exchange.verdict = .anotherWay(exchange)
        }
        return head
    }

    /// - Returns: the head of the whole, where this answer's body goes on where the earlier one stopped.
    private func goOn(from resumption: Resumption, _ head: ResponseHead, _ work: Work) -> ResponseHead? {
        let requestTime = work.cache?.requestTime ?? engine.wallTime
        switch resumption.verdict(on: head, requestTime: requestTime, responseTime: engine.wallTime) {
        case .goOn(let incoming):
            work.cache?.changes.keeping = work.cache.map { Self.keeping(incoming, from: resumption, $0) } ?? .nothing
            work.response.goingOn = incoming
            tell(.resumed(at: resumption.offset))
            work.response.expectedBytes = incoming.response.totalLength
            return incoming.response.head
        case .complete(let stored): work.exchange.verdict = .complete(stored)
        case .askForWhole: work.exchange.verdict = .anotherWay(CacheExchange())
        case .startAfresh, .answered: work.forgetBody()
        }
        return nil
    }

    /// What is kept of a body whose rest comes. What broke off may never have been for a store, and says not for whom it was.
    private static func keeping(
        _ incoming: IncomingResponse, from resumption: Resumption, _ cache: CacheTransaction
    ) -> StoreChanges.Keeping {
        let head = incoming.response.head
        guard Storing.mayStore(head, of: cache.request),
            let selecting = SelectingFields.of(cache.request.fields, for: head)
        else { return .nothing }
        var kept = incoming
        kept.response.selectingFields = selecting
        kept.response.head.fields = Storing.keptFields(of: head.fields)
        return .new(kept, replacing: [resumption.id].compactMap(\.self))
    }

    // MARK: The body

    /// Adds bytes to the body, and to what is kept of it.
    ///
    /// - Parameter spills: whether all of it is taken at once: nothing could pause it.
    /// - Returns: why the rest is of no use.
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
                        "The body is longer than the limit, \(limit) bytes. Raise the limit if you trust the server."
                ))
        }
        unsafe work.response.body.append(bytes)
        return nil
    }

    /// A long body is kept while it comes, as far as its rest could be asked for later.
    func keepPart(_ work: Work, _ cache: CacheTransaction) {
        guard let store = engine.store, plan.goal != .info, plan.request.storedForm.keepsOriginal,
            let incoming = cache.incoming, incoming.response.bodyRange.isEmpty, !work.response.body.hasSpilled,
            incoming.response.hasStrongValidator
        else { return }
        let isCoded = work.response.coded != nil
        let count = isCoded ? cache.raw.count : work.response.body.count
        guard count >= PartKeeper.step else { return }
        let keeper = cache.keeper ?? PartKeeper(store, engine.storing, key: cache.key, incoming: incoming)
        cache.keeper = keeper
        keeper.noticed(count) { start in isCoded ? cache.raw.copy(from: start) : work.response.body.copy(from: start) }
    }

    // MARK: The end

    /// Has the store do what the answer means for it, where the body is of no use to anybody else.
    func settle(_ work: Work, isWhole: Bool, completion: (@Sendable () -> Void)? = nil) {
        guard let cache = work.cache else {
            completion?()
            return
        }
        let hasOwnBody = work.response.coded != nil || work.exchange.verdict != nil
        settle(
            work, cache, hasOwnBody ? cache.raw.take() : work.response.body.take(), isWhole: isWhole,
            completion: completion)
    }

    /// Has the store do what the answer means for it.
    ///
    /// - Parameters:
    ///   - body: all that there is of the body, content coding not undone.
    ///   - isWhole: whether the exchange ended as it should.
    ///   - completion: called when all of that is done, at once where there is nothing to do.
    func settle(
        _ work: Work, _ cache: CacheTransaction, _ body: Bytes, isWhole: Bool, completion: (@Sendable () -> Void)? = nil
    ) {
        var changes = cache.takeChanges()
        if !keepsOriginal { changes.keeping = .nothing }
        let keys = changes.isEmpty ? [] : [cache.key] + changes.invalidatedKeys
        let group = StoreGroup(engine.storing, changing: keys, completion)
        defer { group.seal() }
        guard let store = engine.store else { return }
        let part = changes.keepsNew ? cache.keeper?.end() : nil
        let ended = EndedBody(
            count: body.count, receivedBytes: work.exchange.receivedBytes,
            bytesBeforeRest: work.resumption == nil ? nil : work.response.rawBytes, isWhole: isWhole)
        let writes = changes.writes(of: ended, part: part) { isWorthKeeping($0, body, isWhole: isWhole) }
        for write in writes { perform(write, body, cache, store, group) }
    }

    private func perform(
        _ write: CacheWrite, _ body: Bytes, _ cache: CacheTransaction, _ store: any ResponseStore, _ group: StoreGroup
    ) {
        let (entry, key) = (cache.entry, cache.key)
        switch write {
        case .update(let id, let response): group { done in store.update(id, to: response) { _ in done() } }
        case .invalidate(let key): group { store.removeAll(under: key, completion: $0) }
        case .remove(let ids): group { store.remove(ids, completion: $0) }
        case .keep(let response, let replaced, let part):
            group(bytes: body.count) { done in
                checkingStructure(of: body, response) { [self] isImage in
                    guard isImage else { return part.map { store.remove([$0], completion: done) } ?? done() }
                    let stored = tellsStoring(body.count)
                    store.keep(response, body: body, under: key, replacing: replaced) { id in
                        stored()
                        guard let id, let entry, entry.kept(as: id) else { return done() }
                        store.remove([id], completion: done)
                    }
                }
            }
        case .extend(let id, let leftOut, let response, let offset):
            let rest = body.part(leftOut..<body.count)
            group(bytes: rest.count) { done in
                let stored = tellsStoring(rest.count)
                store.extend(id, by: rest, at: offset) { isKept in
                    stored()
                    if let entry, entry.kept(as: id) { return store.remove([id], completion: done) }
                    guard isKept else { return done() }
                    store.update(id, to: response) { _ in done() }
                }
            }
        }
    }

    /// Walks the structure of a body that is to be stored as an image, off the transport's thread. Where pixels are wanted
    /// their decoder does so, and has the entry removed.
    private func checkingStructure(
        of body: Bytes, _ response: StoredResponse, then store: @escaping @Sendable (_ isImage: Bool) -> Void
    ) {
        guard plan.goal != .image, expectsImage, response.isComplete, response.head.status == 200,
            !response.head.fields.contains("content-encoding")
        else { return store(true) }
        engine.workers.run { [self] in store((try? engine.codecs.validate(body)) != nil) }
    }

    /// Whether the caller says that the bytes it asks for are an image.
    var expectsImage: Bool { !plan.request.isUsual && plan.request.expectsPicture }

    /// A page that a hotel's network puts in front of everything has status 200 too: where a picture was asked for, only
    /// a picture is kept.
    private func isWorthKeeping(_ response: StoredResponse, _ body: Bytes, isWhole: Bool) -> Bool {
        guard plan.goal != .info, Int64(body.count) == Int64(response.bodyRange.count) else { return false }
        // A part that was asked for is as good as a whole, however short it is.
        guard response.isComplete else { return isWhole || Int64(body.count) >= Self.leastPartBytes }
        guard plan.wantsPicture, response.head.status == 200, !response.head.fields.contains("content-encoding") else {
            return true
        }
        return (try? engine.codecs.info(of: body)) != nil
    }
}
