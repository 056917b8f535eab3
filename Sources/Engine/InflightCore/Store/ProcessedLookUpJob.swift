import InflightConcurrency

/// Looks up a processed image in the store. On a miss, the load continues with the original bytes.
// Unchecked: it adds no mutable state.
final class ProcessedLookUpJob: Job, @unchecked Sendable {
    override var logFields: [(name: String, value: String)] { [("job", "look-up"), ("url", plan.url.string)] }

    override func start(priority: ImageRequest.Priority) -> JobStep? {
        guard let store = engine.storage.store else {
            preconditionFailure("a lookup of a processed image without a store")
        }
        let (key, request) = plan.stored(
            after: nil, defaultFields: engine.defaultFields, fieldsExcludedFromKey: engine.fieldsExcludedFromKey)
        let identities = plan.request.processedIdentities(plan.firstProcessor)
        let (now, confirmedAt) = (engine.clock.wallTime, plan.purpose.confirmedAt)
        engine.storage.afterPendingChanges(key) { [self] in
            store.find(key) { _ in
                nil
            } completion: { [self] originals, _ in
                look(for: ProcessedImages.key(key), of: (key, request), in: store) { images in
                    identities.lazy.compactMap {
                        ProcessedImages.choose(
                            images, originals: originals, for: request, identity: $0, now: now,
                            confirmedAt: confirmedAt)
                    }.first
                }
            }
        }
        return nil
    }

    private func look(
        for key: StoreKey, of original: (key: StoreKey, request: CachingRequest), in store: any ResponseStore,
        _ choose: @escaping @Sendable ([StoredEntry]) -> Int?
    ) {
        engine.storage.afterPendingChanges(key) { [self] in
            store.find(key, choose: choose) { [self] images, body in
                emit(.lookedUp(body == nil ? .nothing : .fresh))
                guard let body else { return end(.failure(missing), isFromStore: true) }
                emit(.readFromStore(bytes: Int64(body.bytes.count)))
                end(.response(response(images[body.position], body.bytes, of: original)), isFromStore: false)
            }
        }
    }

    private func end(_ value: JobResult.Value, isFromStore: Bool) {
        engine.jobEnded(self, with: JobResult(value, isFromStore: isFromStore))
    }

    private func response(
        _ entry: StoredEntry, _ body: Bytes, of original: (key: StoreKey, request: CachingRequest)
    ) -> LoadedResponse {
        let image = entry.response
        let isConfirmed = plan.purpose.confirmedAt != nil
        var response = LoadedResponse(
            head: image.head, body: body, url: plan.url.string, wireBytes: 0,
            source: isConfirmed ? .revalidated : .disk)
        response.entry = StoredEntryReference(key: ProcessedImages.key(original.key), id: entry.id)
        let resource = plan.resource(after: nil, fieldsExcludedFromKey: engine.fieldsExcludedFromKey)
        response.lifetime = engine.images.lifetimes.withLock {
            $0.received(image, for: resource, from: isConfirmed ? .revalidated : .stored)
        }
        if plan.stepCount > 2 {
            response.storable = StorableResponse(key: original.key, request: original.request, response: image)
        }
        return response
    }

    private var missing: LoadError {
        LoadError(
            .notStored, stage: .fetch, url: plan.url.string,
            message: "The processed image is not cached. The original is loaded instead.")
    }
}

extension EncodeOptions {
    /// Whether encoding is lossless. Only such images are processed further, so that the result does not depend on the
    /// contents of the store.
    var isExact: Bool { format == .png || (format == .webp && isLossless) }

    /// The options to encode an image with alpha, if the format of these options does not support alpha.
    var keepingAlpha: EncodeOptions {
        var options = EncodeOptions(format: .png)
        options.metadata = metadata
        return options
    }
}
