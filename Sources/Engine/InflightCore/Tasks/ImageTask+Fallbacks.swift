import InflightConcurrency

// The next request of a task after a result that does not end it.

extension ImageTask {
    /// The continuation of a task after a result.
    enum Continuation {
        case end
        /// The task failed, and has a fallback or a refetch.
        case nextRequest(LoadError)
        /// The task receives a stale image, and waits for its revalidation.
        case revalidation

        var isEnd: Bool { if case .end = self { true } else { false } }
    }

    func continuation(after result: JobResult) -> Continuation {
        if let error = result.error(for: goal) {
            return result.isFromStore || hasFallback ? .nextRequest(error) : .end
        }
        return result.isStaleImageBeingRevalidated && observesStale ? .revalidation : .end
    }

    /// The request in progress: ``latestRequest``, or a fallback of it.
    var currentRequest: ImageRequest {
        let (taken, latest) = stripe.lock.withLock { (state.takenFallbacks, state.amended ?? subject) }
        return latest.request.fallback(Int(taken)) ?? latest.request
    }

    /// Whether a fallback remains if this request fails.
    var hasFallback: Bool {
        stripe.lock.withLock {
            state.isWaiting && state.takenFallbacks < (state.amended ?? subject).request.fallbackCount
        }
    }

    /// Takes the next fallback. Returns nil if there is none, or if the task has ended.
    func takeFallback() -> ImageRequest? {
        let (next, preview): ((number: UInt16, of: Subject)?, BoxedPreview?) = stripe.lock.withLock {
            let latest = state.amended ?? subject
            guard state.isWaiting, state.takenFallbacks < latest.request.fallbackCount else { return (nil, nil) }
            state.takenFallbacks += 1
            return ((state.takenFallbacks, latest), state.machine.backlog.fallbackTaken())
        }
        withExtendedLifetime(preview) {}
        return next.flatMap { $0.of.request.fallback(Int($0.number)) }
    }

    /// Returns the request to repeat because its stored response is useless, or nil if it was repeated before.
    func takeRefetch() -> ImageRequest? {
        let isFirst = stripe.lock.withLock {
            guard state.isWaiting, !state.hasRefetched else { return false }
            state.hasRefetched = true
            return true
        }
        return isFirst ? currentRequest : nil
    }

    /// The representation that a store keeps for this task.
    var storedRepresentation: ImageRequest.StoredRepresentation {
        latestRequest.storedRepresentation
    }

    /// Whether the task stores, and so looks for, processed images.
    var storesProcessedImages: Bool { storedRepresentation.processedOptions != nil }

    func looksForProcessed(prefix: Int) {
        stripe.lock.withLock { state.lookedForPrefix = Int16(clamping: prefix) }
    }

    /// Returns the identities of the stored images that would serve the task if the origin confirmed their response,
    /// the preferred one first; nil if the task needs the bytes. Calls processors for their identity.
    var confirmableIdentities: [String]? {
        let isFirst = stripe.lock.withLock { if case .none = state.confirmation { state.isWaiting } else { false } }
        guard isFirst, let plan, plan.looksForProcessed else { return nil }
        let request = currentRequest
        let count = request.processors.count
        let isExact = request.storedRepresentation.processedOptions?.isExact ?? false
        let prefixes = isExact ? Array((0...count).reversed()) : [count]
        return prefixes.flatMap { request.processedIdentities($0) }
    }

    /// The origin has confirmed the response that stored images were made from.
    func processedImagesWereConfirmed(at time: WallTime) {
        stripe.lock.withLock { if case .none = state.confirmation { state.confirmation = .received(time) } }
    }

    /// Returns the request to continue with after the origin has confirmed the response that stored images were made
    /// from; nil if it has not.
    func takeConfirmation() -> ImageRequest? {
        let isTaken = stripe.lock.withLock {
            guard state.isWaiting, case .received(let time) = state.confirmation else { return false }
            state.confirmation = .used(time)
            return true
        }
        return isTaken ? currentRequest : nil
    }

    /// The time of the confirmation after which the task looks for its processed image again.
    var confirmedAt: WallTime? {
        stripe.lock.withLock { if case .used(let time) = state.confirmation { time } else { nil } }
    }

    /// Returns the request to continue with after a processed image was not found in the store, with the next shorter
    /// prefix of processors to look up, or nil to load the bytes. Returns nil if no such lookup was in progress.
    func takeProcessedLookUp() -> (request: ImageRequest, prefix: Int?)? {
        guard stripe.lock.withLock({ state.lookedForPrefix }) >= 0 else { return nil }
        let request = currentRequest
        let isExact = request.storedRepresentation.processedOptions?.isExact ?? false
        let next = stripe.lock.withLock {
            state.lookedForPrefix = isExact ? state.lookedForPrefix - 1 : -1
            return state.lookedForPrefix
        }
        return (request, next < 0 ? nil : Int(next))
    }
}
