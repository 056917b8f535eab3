import InflightConcurrency
internal import Synchronization

/// The decoded images in memory, with the lifetimes of the responses that they were made from.
final class CachedImages: Sendable {
    let cache: any ImageCaching
    /// Files of images, encoded for `pipeline.encoded(for:as:)`.
    let files: MemoryCache<ImageCacheKey, LoadedResponse>
    let lifetimes = Guarded(LifetimeTable())
    let fieldsExcludedFromKey: Set<String>
    private let identity: (@Sendable (ImageRequest) -> String?)?
    private let cookies: ImagePipeline.CookieStore?
    private let clock: any EngineClock
    private let allowsStale: Bool
    private let storedImages = Atomic(0)

    init(_ configuration: ImagePipeline.Configuration) {
        clock = configuration.clock
        cache =
            configuration.imageCache
            ?? MemoryCache<ImageCacheKey, LoadedImage>(configuration: configuration.memoryCache)
        var ofFiles = configuration.memoryCache
        ofFiles.limit = ofFiles.limit / 8
        files = MemoryCache(configuration: ofFiles)
        allowsStale = configuration.allowsStaleFromMemory
        fieldsExcludedFromKey = Set(configuration.fieldsExcludedFromKey.map { $0.lowercased() })
        identity = configuration.identity
        cookies = configuration.cookies
    }

    /// Returns the plan of a request, with the keys that the configuration gives it. Calls the program's code.
    ///
    /// - Parameter chosen: the cookies that another plan of the request has chosen; nil to choose them now.
    func plan(
        _ request: ImageRequest, goal: RequestPlan.Goal, varying: Set<String> = [],
        purpose: RequestPlan.Purpose = .usual, cookies chosen: ImagePipeline.CookieStore.Selection? = nil
    ) throws(LoadError) -> RequestPlan {
        var request = request
        if let identity, request.identity == nil, request.source == nil, let own = identity(request) {
            request.identity = own
        }
        return try RequestPlan(
            request, goal: goal, fieldsExcludedFromKey: fieldsExcludedFromKey, varying: varying, purpose: purpose,
            cookieStore: cookies, cookies: chosen)
    }

    /// The number of images stored so far. A lookup that was made at an earlier count may have missed an image.
    var count: Int { storedImages.load(ordering: .acquiring) }

    /// Returns the image that may serve a plan: the finished image, or else the longest finished prefix of its
    /// processors.
    func find(_ plan: RequestPlan) -> MemoryHit? {
        guard plan.request.hasDefaults || plan.request.readsMemory, plan.mayBeInMemory,
            let keys = plan.memoryPlan(fieldsExcludedFromKey)
        else { return nil }
        var key = keys.finalKey
        for steps in (2...keys.stepCount).reversed() {
            if var image = cache.image(for: ImageCacheKey(key)), mayServe(&image, plan.request) {
                image.source = .memory
                return MemoryHit(image: image, steps: steps)
            }
            key = key.before ?? key
        }
        return nil
    }

    /// Returns the encoded image that may serve a plan for one.
    func findEncoded(_ plan: RequestPlan) -> LoadedResponse? {
        guard plan.request.readsMemory, plan.mayBeInMemory,
            let keys = plan.memoryPlan(fieldsExcludedFromKey, for: .encoded),
            var file = files.value(for: ImageCacheKey(keys.finalKey)),
            mayServe(&file.isStale, until: file.lifetime, plan.request)
        else { return nil }
        file.source = .memory
        return file
    }

    /// Whether the result of a load is in memory, or an image from which it is made.
    func hasResult(of plan: RequestPlan) -> Bool {
        // A stored file needs no encoding.
        plan.goal == .encoded ? findEncoded(plan) != nil : find(plan) != nil
    }

    /// Keeps an encoded image, if that is allowed.
    func keep(_ file: LoadedResponse, for plan: RequestPlan) {
        guard !file.isStale, file.lifetime?.mayBeKept ?? true, !(file.lifetime?.isSuperseded ?? false),
            !file.head.varies(byAnyOf: fieldsExcludedFromKey),
            let keys = plan.memoryPlan(fieldsExcludedFromKey, for: .encoded)
        else { return }
        files.insert(file, for: ImageCacheKey(keys.finalKey), cost: file.body.count + 1024)
        storedImages.add(1, ordering: .relaxed)
    }

    /// Returns the finished image, fresh or stale and marked so.
    func finished(_ plan: RequestPlan) -> LoadedImage? {
        guard let key = finishedKey(plan), var image = cache.image(for: ImageCacheKey(key)) else { return nil }
        image.source = .memory
        image.isStale = !(image.lifetime?.isFresh(at: clock.wallTime) ?? true)
        return image
    }

    /// Returns the finished image, if it may be served although the origin has not been heard in time.
    func standIn(_ plan: RequestPlan) -> LoadedImage? {
        guard plan.goal == .image, !plan.request.hasDefaults, plan.request.servesStaleOnDisconnect,
            let image = finished(plan)
        else { return nil }
        return !image.isStale || image.lifetime?.allowsStale ?? true ? image : nil
    }

    /// Stores a finished image, if it may be stored.
    ///
    /// - Returns: whether it was passed to the cache.
    func insert(_ image: LoadedImage, for plan: RequestPlan) -> Bool {
        guard let key = finishedKey(plan), mayStore(image) else { return false }
        store(image, for: key)
        return true
    }

    /// Returns an image that is fresh for at most this time, and no longer than the response that it comes from.
    func expiring(_ image: LoadedImage, after time: Duration) -> LoadedImage {
        let now = clock.wallTime
        let expiry = now.adding(milliseconds: max(.zero, time).saturatedNanoseconds / 1_000_000)
        var image = image
        image.lifetime =
            image.lifetime.map { ImageLifetime(of: $0, redirectedUntil: expiry) }
            ?? ImageLifetime(
                MemoryFreshness(mayBeKept: true, expiry: expiry, mayBeServedStale: true), receivedAt: now)
        return image
    }

    /// Removes the finished image.
    func remove(_ plan: RequestPlan) {
        if let key = finishedKey(plan) { cache.remove(ImageCacheKey(key)) }
    }

    private func finishedKey(_ plan: RequestPlan) -> RequestKey? {
        guard plan.mayBeInMemory, let keys = plan.memoryPlan(fieldsExcludedFromKey) else { return nil }
        return keys.finalKey
    }

    private func mayServe(_ image: inout LoadedImage, _ request: ImageRequest) -> Bool {
        // The load will fail with that error.
        if !request.hasDefaults, (try? image.info.checkPixels(maximum: request.limits.maximumPixels)) == nil {
            return false
        }
        return mayServe(&image.isStale, until: image.lifetime, request)
    }

    private func mayServe(_ isStale: inout Bool, until lifetime: ImageLifetime?, _ request: ImageRequest) -> Bool {
        guard let lifetime else { return true }
        isStale = !lifetime.isFresh(at: clock.wallTime)
        if !isStale { return true }
        if allowsStale || !request.hasDefaults && request.allowsStaleFromMemory { return !lifetime.isSuperseded }
        return !request.hasDefaults && request.cachePolicy == .preferCached && lifetime.allowsStale
    }

    /// Returns whether an image may be stored. A stale or incomplete image would hide the image that follows it.
    func mayStore(_ image: LoadedImage) -> Bool {
        !image.isIncomplete
            // A stale image from memory is known to be stale.
            && (!image.isStale || image.source == .memory) && image.lifetime?.mayBeKept ?? true
            && !(image.lifetime?.isSuperseded ?? false) && !image.head.varies(byAnyOf: fieldsExcludedFromKey)
    }

    func store(_ image: LoadedImage, for key: RequestKey) {
        cache.store(image, for: ImageCacheKey(key))
        storedImages.add(1, ordering: .relaxed)
    }
}

/// An image found in memory for a load.
final class MemoryHit: Sendable {
    let image: LoadedImage
    /// The number of the plan's steps that the image includes: all, or a prefix of them.
    let steps: Int

    init(image: LoadedImage, steps: Int) {
        self.image = image
        self.steps = steps
    }
}
