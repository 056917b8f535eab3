extension ImagePipeline {
    /// The decoded images that a pipeline keeps in memory.
    ///
    /// - Thread: any. Nothing blocks, and nothing reads the disk or the network.
    public struct Cache: Sendable {
        let images: CachedImages
        let log: Log

        /// The image in memory with the requested size and processors, or nil.
        ///
        /// An image may be stale (RFC 9111 section 4.2), and is then marked (``LoadedImage/isStale``). It can be shown
        /// until a load, which contacts the origin, delivers the current one.
        ///
        /// Assign an image to have later loads of the request find it, for as long as its response is fresh; always,
        /// until it is evicted, if it comes from no response. An incomplete image, one whose response forbids it
        /// (`no-store`), and one of a request that cannot be cached are not kept, nor one for an invalid URL. That is
        /// reported to ``ImagePipeline/Configuration/log``. No transport need serve the URL's scheme, as in `mine://1`.
        /// Assign nil to remove the image.
        /// Stored responses stay: a load that must not use them has the cache policy `.reload`.
        public subscript(request: ImageRequest) -> LoadedImage? {
            get { plan(request).flatMap(images.finished) }
            nonmutating set {
                do throws(LoadError) {
                    let plan = try images.plan(request, goal: .image)
                    guard let newValue else { return images.remove(plan) }
                    if !images.insert(newValue, for: plan) {
                        log(.notice, "the image is not kept in memory") { [("url", plan.url.string)] }
                    }
                } catch {
                    log(.error, "no image can be kept in memory for this request") {
                        [("url", URLParts.shown(request.url)), ("error", error.description)]
                    }
                }
            }
        }

        /// The image in memory of a URL, or nil. Equivalent to ``subscript(_:)-(ImageRequest)`` with its
        /// ``ImageRequestConvertible/imageRequest``.
        public subscript(request: some ImageRequestConvertible) -> LoadedImage? {
            get { self[request.imageRequest] }
            nonmutating set { self[request.imageRequest] = newValue }
        }

        /// Keeps an image in memory for a request, as an assignment does, until it expires.
        ///
        /// Then a load of the request fetches the image again, and ``subscript(_:)-(ImageRequest)`` returns this one,
        /// marked as stale (``LoadedImage/isStale``), until it is replaced or evicted.
        ///
        /// - Parameters:
        ///   - image: the image.
        ///   - request: the request, or its URL, whose loads find the image. If it cannot be kept, that is reported to
        ///     ``ImagePipeline/Configuration/log``.
        ///   - time: the time for which the image is served, rounded down to milliseconds. If the image comes from a
        ///     response that is stale earlier, that counts.
        public func store(_ image: LoadedImage, for request: some ImageRequestConvertible, freshFor time: Duration) {
            self[request.imageRequest] = images.expiring(image, after: time)
        }

        /// The current contents, and the counters since the pipeline was created.
        public var statistics: MemoryCacheStatistics { images.cache.statistics }

        /// Evicts the least valuable images until the rest cost at most `cost` bytes. 0 evicts all.
        public func trim(to cost: Int) {
            images.cache.trim(to: cost)
            images.files.trim(to: cost)
        }

        /// Removes every image.
        public func removeAll() {
            images.cache.removeAll()
            images.files.removeAll()
        }

        private func plan(_ request: ImageRequest) -> RequestPlan? {
            try? images.plan(request, goal: .image)
        }
    }
}
