/// A memory cache of decoded images. A pipeline looks images up before loading and stores them after decoding or
/// processing.
///
/// By default a pipeline uses a ``MemoryCache`` as ``ImagePipeline/Configuration/memoryCache`` describes it.
/// ``ImagePipeline/Configuration/imageCache`` replaces it with another, which several pipelines may share.
///
/// - Thread: any, several calls at once, with no lock of the engine held. Views look images up on their own thread, so
///   no method may wait.
/// - Order: a stored image is found by later lookups until it is evicted, which may be at once.
/// - Release: evicted images are released with no lock held.
public protocol ImageCaching: Sendable {
    /// Returns the image for `key`, if any. A hit counts as a use.
    func image(for key: ImageCacheKey) -> LoadedImage?
    /// Stores `image` for `key` instead of any earlier one, or removes that one if the new image costs too much.
    ///
    /// The cost of an image is the size of its pixels, its metadata and its body, in bytes. An image in a
    /// ``MemoryCache`` costs at least 1,056: its key, its response head and its place in the cache take as much.
    func store(_ image: LoadedImage, for key: ImageCacheKey)
    /// Removes the image for `key`, if any.
    func remove(_ key: ImageCacheKey)
    /// Evicts images until the rest cost at most `cost` bytes.
    func trim(to cost: Int)
    /// Removes every image.
    func removeAll()
    /// The current contents, and the counters since the cache was created.
    var statistics: MemoryCacheStatistics { get }
}

/// The key of a decoded image: its request, size and processors. It is comparable only within a process.
public struct ImageCacheKey: Hashable, Sendable {
    private let key: RequestKey

    init(_ key: RequestKey) {
        self.key = key
    }

    /// Creates a key from a name, for tests of caches. It equals no key of a request.
    public init(named name: String) {
        key = FetchKey(url: name, rest: [])
    }
}

extension MemoryCache: ImageCaching where Key == ImageCacheKey, Value == LoadedImage {
    public func image(for key: ImageCacheKey) -> LoadedImage? { value(for: key) }

    public func store(_ image: LoadedImage, for key: ImageCacheKey) {
        let bytes = image.pixels.byteCount + (image.metadata?.byteCount ?? 0) + (image.body?.count ?? 0)
        insert(image, for: key, cost: max(Self.minimumImageCost, bytes))
    }

    /// The memory of an image with one pixel, its key, response head, lifetime and slot included, as measured.
    private static var minimumImageCost: Int { 1056 }

    public func remove(_ key: ImageCacheKey) {
        _ = remove(key) as LoadedImage?
    }
}
