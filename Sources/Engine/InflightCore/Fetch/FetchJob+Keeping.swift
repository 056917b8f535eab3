import InflightConcurrency

// What an answer means for what is stored, and how its body is kept.

extension FetchJob {
    /// Whether the bytes themselves are to be kept.
    var keepsOriginal: Bool {
        plan.request.isUsual || plan.request.storedForm.keepsOriginal || engine.isWanted(id, \.keepsOriginal)
    }

    /// What may be kept of a picture that is made of this answer.
    func storable(_ response: StoredResponse, _ use: StoreUse) -> StorableAnswer? {
        guard work?.redirected == nil, engine.isWanted(id, { $0.processedOptions != nil }) else { return nil }
        return StorableAnswer(key: use.key, request: use.request, response: response)
    }

    /// What came of a body that broke off, or that nobody waited for, is not worth a write below this.
    private static let leastPartBytes: Int64 = 16 * 1024

    // MARK: The head

    /// What the head of an answer means beside what is stored, and beside what an earlier exchange has left of the body.
    ///
    /// - Returns: the head to go on with; the work's verdict says where there is none.
    func judge(_ head: ResponseHead, _ work: Work) -> ResponseHead {
        work.use?.responseTime = work.exchange.responseTime
        // What an earlier answer meant for the store was meant for its own bytes.
        work.use?.changes = StoreChanges()
        if let resumption = work.resumption.take(), let merged = goOn(from: resumption, head, work) { return merged }
        guard work.exchange.verdict == nil, let use = work.use else { return head }
        let outcome = CacheOutcome.decide(
            head: head, exchange: use.exchange, found: use.found, request: use.request, requestTime: use.requestTime,
            responseTime: use.responseTime)
        use.changes = outcome.changes
        switch outcome {
        case .pass: break
        case .serve(let answer, let changes):
            use.representation =
                changes.updates.first { $0.id == answer.id }?.response ?? use.found[answer.position].response
            work.exchange.verdict = .stored(answer, head.status == 304 ? .revalidated : .disk)
        case .exchangeAgain(let exchange, _): work.exchange.verdict = .anotherWay(exchange)
        }
        return head
    }

    /// - Returns: the head of the whole, where this answer's body goes on where the earlier one stopped.
    private func goOn(from resumption: Resumption, _ head: ResponseHead, _ work: Work) -> ResponseHead? {
        let requestTime = work.use?.requestTime ?? engine.wallTime
        switch resumption.verdict(on: head, requestTime: requestTime, responseTime: engine.wallTime) {
        case .goOn(let incoming):
            work.use?.changes.keeping = work.use.map { Self.keeping(incoming, from: resumption, $0) } ?? .nothing
            work.answer.goingOn = incoming
            tell(.resumed(at: resumption.offset))
            work.answer.expectedBytes = incoming.response.totalLength
            return incoming.response.head
        case .complete(let stored): work.exchange.verdict = .complete(stored)
        case .askForWhole: work.exchange.verdict = .anotherWay(CacheExchange())
        case .startAfresh, .answered: work.forgetBody()
        }
        return nil
    }

    /// What is kept of a body whose rest comes. What broke off may never have been for a store, and says not for whom it was.
    private static func keeping(
        _ incoming: IncomingResponse, from resumption: Resumption, _ use: StoreUse
    ) -> StoreChanges.Keeping {
        let head = incoming.response.head
        guard Storing.mayStore(head, of: use.request), let selecting = SelectingFields.of(use.request.fields, for: head)
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
        work.answer.rawBytes += Int64(bytes.count)
        work.exchange.receivedBytes += Int64(bytes.count)
        if let coded = work.answer.coded {
            unsafe work.use?.raw.append(bytes)
            return unsafe decode(bytes, by: coded, work, spills: spills)
        }
        let limit = plan.request.limits.maximumBodyBytes
        guard Int64(bytes.count) <= limit - Int64(work.answer.body.count) else {
            return .failure(
                LoadError(
                    .tooLarge, stage: .fetch,
                    message:
                        "The body is longer than the limit, \(limit) bytes. Raise the limit if you trust the server."
                ))
        }
        unsafe work.answer.body.append(bytes)
        return nil
    }

    /// A long body is kept while it comes, as far as its rest could be asked for later.
    func keepPart(_ work: Work, _ use: StoreUse) {
        guard let store = engine.store, plan.goal != .info, plan.request.storedForm.keepsOriginal,
            let incoming = use.incoming, incoming.response.bodyRange.isEmpty, !work.answer.body.hasSpilled,
            incoming.response.hasStrongValidator
        else { return }
        let isCoded = work.answer.coded != nil
        let count = isCoded ? use.raw.count : work.answer.body.count
        guard count >= PartKeeper.step else { return }
        let keeper = use.keeper ?? PartKeeper(store, engine.storing, key: use.key, incoming: incoming)
        use.keeper = keeper
        keeper.noticed(count) { start in isCoded ? use.raw.copy(from: start) : work.answer.body.copy(from: start) }
    }

    // MARK: The end

    /// Has the store do what the answer means for it, where the body is of no use to anybody else.
    func settle(_ work: Work, isWhole: Bool, completion: (@Sendable () -> Void)? = nil) {
        guard let use = work.use else {
            completion?()
            return
        }
        let hasOwnBody = work.answer.coded != nil || work.exchange.verdict != nil
        settle(
            work, use, hasOwnBody ? use.raw.take() : work.answer.body.take(), isWhole: isWhole, completion: completion)
    }

    /// How many bytes follow what is kept. Where the rest was asked for and no answer came, that is what came before.
    private func bytesCome(_ work: Work, after incoming: IncomingResponse) -> Int64 {
        work.resumption == nil
            ? work.exchange.receivedBytes : work.answer.rawBytes - incoming.response.bodyRange.upperBound
    }

    /// Has the store do what the answer means for it.
    ///
    /// - Parameters:
    ///   - body: all that there is of the body, content coding not undone.
    ///   - isWhole: whether the exchange ended as it should.
    ///   - completion: called when all of that is done, at once where there is nothing to do.
    func settle(
        _ work: Work, _ use: StoreUse, _ body: Bytes, isWhole: Bool, completion: (@Sendable () -> Void)? = nil
    ) {
        var changes = use.changes
        use.changes = StoreChanges()
        if !keepsOriginal { changes.keeping = .nothing }
        let invalidated = changes.invalidated.map { StoreKey($0) }.flatMap { [$0, ProcessedPictures.key($0)] }
        let group = StoreGroup(engine.storing, changing: changes.isEmpty ? [] : [use.key] + invalidated, completion)
        defer { group.seal() }
        guard let store = engine.store else { return }
        for update in changes.updates {
            group { done in store.update(update.id, to: update.response) { _ in done() } }
        }
        for key in invalidated { group { store.removeAll(under: key, completion: $0) } }
        var removed = changes.removed
        switch changes.keeping {
        case .nothing: break
        case .new(let incoming, let replaced):
            let part = use.keeper?.end()
            guard let ended = incoming.ended(after: bytesCome(work, after: incoming), isWhole: isWhole),
                isWorthKeeping(ended, body, isWhole: isWhole)
            else {
                // A part that was kept already stays, if its rest could still be asked for.
                if isWhole, let part { removed.append(part) }
                break
            }
            let (entry, key) = (use.entry, use.key)
            let replaced = replaced + [part].compactMap(\.self)
            group(bytes: body.count) { done in
                checkingStructure(of: body, ended) { [self] isImage in
                    guard isImage else { return part.map { store.remove([$0], completion: done) } ?? done() }
                    let stored = tellsStoring(body.count)
                    store.keep(ended, body: body, under: key, replacing: replaced) { id in
                        stored()
                        guard let id, let entry, entry.kept(as: id) else { return done() }
                        store.remove([id], completion: done)
                    }
                }
            }
        case .extending(let id, let incoming, let leftOut):
            guard leftOut <= Int64(body.count),
                let ended = incoming.ended(after: work.exchange.receivedBytes - leftOut, isWhole: isWhole)
            else { break }
            let rest = body.part(Int(leftOut)..<body.count)
            group(bytes: rest.count) { [entry = use.entry] done in
                let stored = tellsStoring(rest.count)
                store.extend(id, by: rest, at: incoming.response.bodyRange.upperBound) { isKept in
                    stored()
                    if let entry, entry.kept(as: id) { return store.remove([id], completion: done) }
                    guard isKept else { return done() }
                    store.update(id, to: ended) { _ in done() }
                }
            }
        }
        if !removed.isEmpty { group { store.remove(removed, completion: $0) } }
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
