import InflightConcurrency

// What else a task asks for, where what it asked for is of no use.

extension ImageTask {
    /// What is asked for now: ``request``, or a fallback of it.
    var currentRequest: ImageRequest {
        let taken = stripe.lock.withLock { state.takenFallbacks }
        return request.fallback(Int(taken)) ?? request
    }

    /// Whether there is something else to ask for where this fails.
    var hasFallback: Bool {
        let count = request.fallbackCount
        return count > 0 && stripe.lock.withLock { state.isWaiting && state.takenFallbacks < count }
    }

    /// Takes the next fallback; `nil` where there is none, or nobody waits any more.
    func takeFallback() -> ImageRequest? {
        let count = request.fallbackCount
        guard count > 0 else { return nil }
        let (taken, preview): (UInt16?, BoxedPreview?) = stripe.lock.withLock {
            guard state.isWaiting, state.takenFallbacks < count else { return (nil, nil) }
            state.takenFallbacks += 1
            return (state.takenFallbacks, state.machine.backlog.fallbackTaken())
        }
        withExtendedLifetime(preview) {}
        return taken.flatMap { request.fallback(Int($0)) }
    }

    /// What is to be asked for once more, because what was stored is of no use; `nil` where that was done before.
    func takeRefetch() -> ImageRequest? {
        let isFirst = stripe.lock.withLock {
            guard state.isWaiting, !state.hasRefetched else { return false }
            state.hasRefetched = true
            return true
        }
        return isFirst ? currentRequest : nil
    }

    /// What a store is to keep of it.
    var storedForm: StoredForm { request.isUsual ? .original : request.storedForm }

    func looksForProcessed(prefix: Int) {
        stripe.lock.withLock { state.lookedForPrefix = Int16(clamping: prefix) }
    }

    /// What is to be asked for, because the image is not stored as it was looked for: what the next shorter prefix of its
    /// processors made, or the bytes, where `prefix` is `nil`. `nil` where it was not looked for.
    func takeProcessedLookUp() -> (request: ImageRequest, prefix: Int?)? {
        guard stripe.lock.withLock({ state.lookedForPrefix }) >= 0 else { return nil }
        let request = currentRequest
        let isExact = request.storedForm.processedOptions?.isExact ?? false
        let next = stripe.lock.withLock {
            state.lookedForPrefix = isExact ? state.lookedForPrefix - 1 : -1
            return state.lookedForPrefix
        }
        return (request, next < 0 ? nil : Int(next))
    }
}
