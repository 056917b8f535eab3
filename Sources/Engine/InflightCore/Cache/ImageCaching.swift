/// Keeps decoded pictures in memory: what a pipeline asks before it loads, and tells when it has decoded or processed.
///
/// The one that a pipeline has by itself is a ``MemoryCache`` as ``ImagePipeline/Configuration/memoryCache`` describes it;
/// ``ImagePipeline/Configuration/imageCache`` puts another in its place, which several pipelines may share.
///
/// - Thread: every method may be called from any thread, with no lock of the engine held, several at once. The picture
///   that a view asks for is looked up on the view's thread, so that none may wait for anything.
/// - Order: what was stored is found by whoever asks later, until it is let go of, which may be at once.
/// - Release: pictures that go are released with no lock held.
/// - Checked by `ImageCacheConformance` in the test kit.
public protocol ImageCaching: Sendable {
    /// The picture for `key`, if it is there, which counts as a use.
    func image(for key: ImageCacheKey) -> LoadedImage?
    /// Keeps `image` in the place of whatever `key` had, or nothing for it where it costs too much. It costs the bytes of
    /// its pixels.
    func store(_ image: LoadedImage, for key: ImageCacheKey)
    /// Takes out the picture for `key`.
    func remove(_ key: ImageCacheKey)
    /// Lets go of pictures until those left cost at most `cost` bytes.
    func trim(to cost: Int)
    func removeAll()
    /// What is here and what happened so far.
    var statistics: MemoryCacheStatistics { get }
}

/// What a decoded picture is known by: its request, its size and its processors. It is comparable within a process alone.
public struct ImageCacheKey: Hashable, Sendable {
    private let key: JobKey

    init(_ key: JobKey) {
        self.key = key
    }

    /// A key of that name, for tests of caches.
    package init(named name: String) {
        key = FetchKey(url: name, rest: [])
    }
}

extension MemoryCache: ImageCaching where Key == ImageCacheKey, Value == LoadedImage {
    public func image(for key: ImageCacheKey) -> LoadedImage? { value(for: key) }

    public func store(_ image: LoadedImage, for key: ImageCacheKey) {
        insert(image, for: key, cost: image.pixels.byteCount + (image.metadata?.byteCount ?? 0))
    }

    public func remove(_ key: ImageCacheKey) {
        _ = remove(key) as LoadedImage?
    }
}
