public import FoundationEssentials
import InflightConcurrency

extension ImagePipeline {
    /// The stored responses, for programs that look at them, and add and remove some, by hand. Empty without a store.
    public var diskCache: DiskCache { DiskCache(pipeline: self) }

    /// The responses in a pipeline's store, which is the disk cache in the standard configuration.
    ///
    /// ```swift
    /// if await pipeline.diskCache.contains(url) { … }
    /// try await pipeline.diskCache.store(png, for: "https://example.org/logo.png", freshFor: .seconds(3600))
    /// ```
    ///
    /// Each call takes what belongs to a request: to its URL or its identity, its header fields as `Vary` demands, and
    /// its credentials. Loads that begin after a call has returned see its changes. Images in memory stay as they are.
    ///
    /// - Thread: any. Nothing blocks, and nothing is sent to a server.
    public struct DiskCache: Sendable {
        let pipeline: ImagePipeline

        private var engine: Engine { pipeline.engine }

        /// The store, if the pipeline has one.
        package var base: (any ResponseStore)? { engine.storage.store }

        /// Returns whether a load of the request with the cache policy `onlyCached` would be served: whether there is a
        /// complete response that HTTP allows to use without asking its server.
        ///
        /// Costs a lookup in the index. `false` for a malformed URL, and with a store that cannot be read.
        public func contains(_ request: some ImageRequestConvertible) async -> Bool {
            guard let store = base, let plan = try? plan(request) else { return false }
            let (key, request) = stored(plan)
            let now = engine.clock.wallTime
            let answer = ValueBridge<Bool>()
            engine.storage.afterPendingChanges(key) {
                store.find(key) { _ in
                    nil
                } completion: { found, _ in
                    var request = request
                    request.policy = .onlyCached
                    let decision = CacheDecision.decide(found: found, request: request, now: now)
                    if case .serve = decision { answer.open(with: true) } else { answer.open(with: false) }
                }
            }
            return await answer.value()
        }

        /// Returns the bytes that a load of the request with the cache policy `onlyCached` would be served, without
        /// their content coding; nil if there are none.
        ///
        /// - Throws: other errors of that load: ``LoadError/Code/invalidURL``, or ``LoadError/Code/cancelled`` if the
        ///   surrounding task is cancelled.
        public func data(for request: some ImageRequestConvertible) async throws(LoadError) -> Data? {
            var request = request.imageRequest
            request.cachePolicy = .onlyCached
            request.fallbacks = []
            do throws(LoadError) {
                return try await pipeline.data(for: request)
            } catch {
                if error.code == .notStored { return nil }
                throw error
            }
        }

        /// Stores bytes as the response to a request, in place of the one that is stored, and removes processed images
        /// that were made of that. Nothing is stored in part.
        ///
        /// - Parameters:
        ///   - data: the bytes. They are not decoded.
        ///   - request: the request, of an `http` or `https` URL.
        ///   - time: the time for which loads are served without asking the server. Afterwards it is asked.
        /// - Throws: ``LoadError/Code/invalidRequest`` if there is no store, or the request cannot be served from one:
        ///   for example a POST, or another scheme; ``LoadError/Code/invalidURL``; ``LoadError/Code/cannotWrite`` if
        ///   the store does not take it: its disk is full or read-only, or too much is waiting for it.
        public func store(
            _ data: Data, for request: some ImageRequestConvertible, freshFor time: Duration
        ) async throws(LoadError) {
            let plan = try plan(request)
            guard let store = base else {
                throw refused(plan, "The pipeline has no store. Give its configuration one.")
            }
            guard let (key, matching, response) = response(of: data, to: plan, time) else {
                throw refused(plan, "No store serves this request. Use a GET of an http or https URL.")
            }
            let body = Bytes(data)
            let isStored = Guarded(false)
            await change([key, ProcessedImages.key(key)]) { group in
                group(bytes: body.count) { done in
                    store.find(key) { _ in
                        nil
                    } completion: { found, _ in
                        let old = CacheCandidates(found, matching).matching.map { found[$0].id }
                        store.keep(response, body: body, under: key, replacing: old) { id in
                            isStored.withLock { $0 = id != nil }
                            guard id != nil else { return done() }
                            store.removeAll(under: ProcessedImages.key(key), completion: done)
                        }
                    }
                }
            }
            guard isStored.withLock({ $0 }) else {
                throw LoadError(
                    .cannotWrite, stage: .store, url: plan.url.string,
                    message: "The store has not taken the bytes: its disk may be full or read-only.")
            }
        }

        /// Removes all responses under the request's URL, or its identity, whatever its header fields, and the
        /// processed images that were made of them. Returns when they are gone. Does nothing for a malformed URL.
        public func remove(_ request: some ImageRequestConvertible) async {
            guard let store = base, let plan = try? plan(request) else { return }
            let key = stored(plan).key
            let keys = [key, ProcessedImages.key(key)]
            await change(keys) { group in
                for key in keys { group { store.removeAll(under: key, completion: $0) } }
            }
        }

        // MARK: Requests

        private func plan(_ request: some ImageRequestConvertible) throws(LoadError) -> RequestPlan {
            var request = request.imageRequest
            request.cachePolicy = .obey
            return try engine.plan(request, goal: .data)
        }

        private func stored(_ plan: RequestPlan) -> (key: StoreKey, request: CachingRequest) {
            plan.stored(
                after: nil, defaultFields: engine.defaultFields, fieldsExcludedFromKey: engine.fieldsExcludedFromKey)
        }

        private func refused(_ plan: RequestPlan, _ message: String) -> LoadError {
            LoadError(.invalidRequest, stage: .store, url: plan.url.string, message: message)
        }

        /// Returns how to store bytes that a server might have sent now, with this freshness lifetime.
        private func response(
            of data: Data, to plan: RequestPlan, _ time: Duration
        ) -> (StoreKey, CachingRequest, StoredResponse)? {
            guard plan.url.origin != nil, plan.mayBeStored else { return nil }
            let now = engine.clock.wallTime
            let type = engine.codecs.detect(Bytes(data))?.mediaType ?? "application/octet-stream"
            let seconds = max(0, time.components.seconds)
            let head = ResponseHead(
                status: 200,
                fields: HTTPFields([
                    ("Date", HTTPDate.text(now)), ("Content-Type", type), ("Content-Length", "\(data.count)"),
                    ("Cache-Control", "max-age=\(seconds)"),
                ]))
            let (key, request) = stored(plan)
            let incoming = StoragePolicy.incoming(head, of: request, requestTime: now, responseTime: now)
            guard let response = incoming?.ended(after: Int64(data.count), isWhole: true) else { return nil }
            return (key, request, response)
        }

        /// Changes what is stored under keys. Lookups that begin meanwhile wait until it is done.
        private func change(_ keys: [StoreKey], _ work: (StoreGroup) -> Void) async {
            let bridge = Bridge()
            let group = StoreGroup(engine.storage, changing: keys) { bridge.open() }
            work(group)
            group.seal()
            await bridge.wait()
        }
    }
}
