public import FoundationEssentials

/// A description of an image to load: its URL, how to request it, and how to process the result. Copying it is cheap.
///
/// Nothing is validated here. If the URL cannot be loaded or a size is zero, the load fails.
public struct ImageRequest: Sendable {
    /// The limits of one load. A negative limit or timeout fails the load with ``LoadError/Code/invalidRequest``.
    ///
    /// None is part of the keys by which requests are coalesced. Loads with different limits share a fetch and a
    /// decode, which continue as long as the laxest allows. A load whose own limit is exceeded before fails alone.
    public struct Limits: Sendable, Hashable {
        /// The maximum time for name resolution, connection and TLS together. If nil, there is no limit. Loads that
        /// share a fetch have the longest of theirs.
        public var connectTimeout: Duration? = .seconds(10)
        /// The longest time without a byte in either direction. A response's head must also be complete within this
        /// time after its first line. If nil, there is no limit. Loads that share a fetch have the longest of theirs.
        public var stallTimeout: Duration? = .seconds(15)
        /// The maximum time for the whole fetch with its redirects and retries, from its start after queueing, or from
        /// the time at which the load joins the fetch of others. Time in a queue, also after a lookup in the store or a
        /// redirect, and delays before retries do not count. If nil, there is no limit.
        public var totalTimeout: Duration?
        /// The rate below which a transfer ends with ``LoadError/Code/timedOut``, in bytes of the body on the wire per
        /// second, averaged over ``minimumRatePeriod``. It is measured from the first byte of the body; time in which
        /// the pipeline has paused the transfer does not count. 0 disables it. Loads that share a fetch have the lowest
        /// of theirs.
        public var minimumBytesPerSecond: Int = 1024
        /// The period over which ``minimumBytesPerSecond`` is averaged, so the minimum time that a slow transfer gets.
        /// It must be positive. Loads that share a fetch have the longest of theirs.
        public var minimumRatePeriod: Duration = .seconds(30)
        /// The maximum number of bytes of the body, on the wire and again after its content coding is decoded.
        public var maximumBodyBytes: Int64 = 200_000_000
        /// The maximum number of pixels, width × height, as declared in the image's header. An image in memory that
        /// exceeds it is not served.
        public var maximumPixels: Int = 100_000_000
        /// The maximum memory for one decode in bytes, estimated from the image's header. An image in memory needs
        /// none.
        public var maximumDecodeBytes: Int = 1 << 30
        /// The maximum number of redirects to follow; 0 follows none.
        public var maximumRedirects: Int = 20

        /// Creates the default limits.
        public init() {}
    }

    /// An absolute URL: `http`, `https`, `file`, `data`, or a scheme that another transport of the pipeline serves.
    public var url: String
    /// The properties that most requests leave at their defaults. Shared until changed, so that a request stays small.
    private var options = Options.standard
    /// The target size. If nil, the image keeps its own.
    public var resize: Resize?
    /// The urgency of the load, which ``ImageTask/priority`` can change later. Not part of the keys by which requests
    /// are coalesced.
    public var priority: Priority

    /// The HTTP method, `GET` by default. It is sent as it is, so use upper case. Files and `data:` URLs support `GET`
    /// and `HEAD`. If it is not a token (RFC 9110 section 9.1), the load fails with ``LoadError/Code/invalidRequest``.
    public var method: String {
        get { options.value.method }
        set { changeRest { $0.method = newValue } }
    }
    /// The header fields sent to every host that the load reaches. `Authorization`, `Cookie` and `Proxy-Authorization`
    /// never follow a redirect to another origin.
    public var fields: HTTPFields {
        get { options.value.fields }
        set { changeRest { $0.fields = newValue } }
    }
    /// The header fields sent only to the URL's own origin. They never follow a redirect to another.
    public var originFields: HTTPFields {
        get { options.value.originFields }
        set { changeRest { $0.originFields = newValue } }
    }
    /// The body to send, by default nil for none. A redirect that changes the method to `GET` drops it; others send it
    /// again.
    public var body: Bytes? {
        get { options.value.body }
        set { changeRest { $0.body = newValue } }
    }
    /// The processors applied to the decoded and resized image, in this order. None by default. The initializers take
    /// any ``ImageProcessing`` in their lists; here one that is not an ``ImageProcessor`` is wrapped in one. A request
    /// with more than 10,000 fails with ``LoadError/Code/invalidRequest``.
    public var processors: [ImageProcessor] {
        get { options.value.processors }
        set { changeRest { $0.processors = newValue } }
    }
    /// The byte order of the pixels, `.rgba` by default. GTK and Cairo need `.bgra`, with ``premultipliesAlpha``.
    public var pixelOrder: PixelBuffer.Format.Order {
        get { options.value.pixelOrder }
        set { changeRest { $0.pixelOrder = newValue } }
    }
    /// Whether the color components of the pixels are multiplied by their alpha. `false` by default. Images without
    /// alpha are not affected.
    public var premultipliesAlpha: Bool {
        get { options.value.premultipliesAlpha }
        set { changeRest { $0.premultipliesAlpha = newValue } }
    }
    /// The key that identifies the image instead of its URL, for URLs that are signed or otherwise change. Requests
    /// with the same identity are coalesced and share cache entries, whatever their URLs. The first one's URL is
    /// fetched. Every other difference between requests (method, fields, body, policy) still separates them. If nil,
    /// ``ImagePipeline/Configuration/identity`` may return one.
    public var identity: String? {
        get { options.value.identity }
        set { changeRest { $0.identity = newValue } }
    }
    /// The URLs to try in order if ``url`` fails. The error of the load is that of the last one. On another origin,
    /// ``originFields`` and credentials in ``fields`` are not sent. ``identity`` and ``source`` apply to the first URL
    /// alone. Fallbacks are not part of the keys by which requests are coalesced.
    public var fallbacks: [String] {
        get { options.value.fallbacks }
        set { changeRest { $0.fallbacks = newValue } }
    }
    /// The policy for using stored responses, ``CachePolicy/obey`` by default. With ``CachePolicy/refresh``,
    /// ``CachePolicy/reload`` and ``CachePolicy/noStore``, images in memory are not used either.
    public var cachePolicy: CachePolicy {
        get { options.value.cachePolicy }
        set { changeRest { $0.cachePolicy = newValue } }
    }
    /// Whether a stale response is used, whatever its age, if the origin cannot be reached (RFC 9111 section 4.2.4):
    /// the connection or the name lookup fails, times out or breaks. The result is marked as stale. `must-revalidate`,
    /// `no-cache`, ``CachePolicy/refresh`` and ``CachePolicy/reload`` forbid it. By default (`false`), only a response
    /// with `stale-if-error` is used in this case.
    public var servesStaleOnDisconnect: Bool {
        get { options.value.servesStaleOnDisconnect }
        set { changeRest { $0.servesStaleOnDisconnect = newValue } }
    }
    /// Whether the memory cache serves the image when it is stale, regardless of HTTP: for lists that are scrolled back
    /// and forth, where an immediate image matters more than the newest one. Such an image is marked as stale
    /// (``LoadedImage/isStale``). If the pipeline knows a newer response, the image is not served. Not part of the keys
    /// by which requests are coalesced. ``ImagePipeline/Configuration/allowsStaleFromMemory`` applies to all loads.
    public var allowsStaleFromMemory: Bool {
        get { options.value.allowsStaleFromMemory }
        set { changeRest { $0.allowsStaleFromMemory = newValue } }
    }
    /// Whether an image in memory may be the result, `true` by default. If not, the image is fetched or read from the
    /// store, and decoded. Not part of the keys by which requests are coalesced.
    public var readsMemory: Bool {
        get { options.value.readsMemory }
        set { changeRest { $0.readsMemory = newValue } }
    }
    /// Whether the image is kept in memory, `true` by default. An image that several loads share is kept if one of them
    /// wants it. Not part of the keys by which requests are coalesced. For the disk see ``cachePolicy``.
    public var writesMemory: Bool {
        get { options.value.writesMemory }
        set { changeRest { $0.writesMemory = newValue } }
    }
    /// Whether a load of bytes expects an image. A body that is not an image, such as a captive portal's page, is still
    /// delivered but not stored. A stored body is checked before it is served: if its structure is broken, its entry is
    /// removed and the body is fetched again, once.
    public var expectsImage: Bool {
        get { options.value.expectsImage }
        set { changeRest { $0.expectsImage = newValue } }
    }
    /// Whether the pixels of a stored image are decoded too, before its bytes are served to a caller that expects an
    /// image. If they do not decode, the entry is removed and the image is fetched again, once. Costs a decode of each
    /// stored image, within ``limits`` and while decode memory is available.
    public var verifiesStoredImage: Bool {
        get { options.value.verifiesStoredImage }
        set { changeRest { $0.verifiesStoredImage = newValue } }
    }
    /// The representation in which an image from a server is stored, by default the bytes as received. Not part of the
    /// keys by which requests are coalesced: the bytes are stored if any subscriber wants them.
    public var storedRepresentation: StoredRepresentation {
        get { options.value.storedRepresentation }
        set { changeRest { $0.storedRepresentation = newValue } }
    }
    /// The page of a multi-page image (TIFF only), counted from 0, which is the default: see ``DecodeOptions/page``.
    /// ``ImagePipeline/info(for:)-(ImageRequest)`` reads only the first.
    public var page: Int {
        get { options.value.page }
        set { changeRest { $0.page = newValue } }
    }
    /// Whether the file's metadata is delivered with the image, as ``LoadedImage/metadata``, and written into stored
    /// processed images. It is part of the image's key.
    public var keepsMetadata: Bool {
        get { options.value.keepsMetadata }
        set { changeRest { $0.keepsMetadata = newValue } }
    }
    /// The name of the codecs that decode this request's bytes, among ``ImagePipeline/Configuration/decoders``. If nil,
    /// those of ``ImagePipeline/Configuration/codecs`` do. A name that is not there fails the load with
    /// ``LoadError/Code/invalidRequest``. It is part of the request's key: loads with different decoders share stored
    /// responses, and nothing else.
    public var decoder: String? {
        get { options.value.decoder }
        set { changeRest { $0.decoder = newValue } }
    }
    /// Whether the body is delivered with the image, as ``LoadedImage/body``: the bytes, the head and the pixels are
    /// then those of one load. `false` by default. It is part of the image's key: loads with and without the body share
    /// the fetch, not the decode. In the memory cache the image costs the body's bytes too. A stored processed image is
    /// not used, because its bytes are others.
    public var keepsBody: Bool {
        get { options.value.keepsBody }
        set { changeRest { $0.keepsBody = newValue } }
    }
    /// The expected SHA-256 of the body after its content coding is decoded. If nil, it is not checked. A body that
    /// does not match fails with ``LoadError/Code/damaged`` and is not stored.
    public var checksum: Checksum? {
        get { options.value.checksum }
        set { changeRest { $0.checksum = newValue } }
    }
    /// Whether redirects are followed, `true` by default. If not,
    /// ``ImagePipeline/response(for:)-(ImageRequest)`` returns the redirect itself, and every other call fails with its
    /// status.
    ///
    /// Cookies that redirects set are sent with the later requests of the same load (RFC 6265), beside a `Cookie` field
    /// of the caller, and forgotten when it ends, unless the pipeline keeps cookies
    /// (``ImagePipeline/Configuration/cookies``).
    public var followsRedirects: Bool {
        get { options.value.followsRedirects }
        set { changeRest { $0.followsRedirects = newValue } }
    }
    /// Whether a partial decode of a truncated or corrupt image is a success. Such an image is marked
    /// (``LoadedImage/isIncomplete``) and never cached. A corrupt stored image is fetched again first.
    public var allowsPartialImage: Bool {
        get { options.value.allowsPartialImage }
        set { changeRest { $0.allowsPartialImage = newValue } }
    }
    /// The previews to deliver while the image loads: by the events of
    /// ``ImagePipeline/events(for:)-(ImageRequest)``, by the `preview` callbacks of ``ImagePipeline`` and by
    /// ``ImageLoader``. If nil, there are none. Not part of the keys by which requests are coalesced. Cached images are
    /// delivered at once and have no previews.
    public var previews: PreviewOptions? {
        get { options.value.previews }
        set { changeRest { $0.previews = newValue } }
    }
    /// The source of the bytes or the image, if the request was created with one. If nil, ``url`` is loaded.
    public var source: Source? { options.value.source }
    /// The maximum time from the call to the result, by default nil for none. It includes time in queues, hooks,
    /// retries, redirects, fallbacks, decoding and processors, not all of which ``Limits/totalTimeout`` counts. For an
    /// event stream it begins when the first event is asked for.
    ///
    /// If it passes first, the load fails with ``LoadError/Code/deadlineExceeded``, whatever is running. An event
    /// stream that has delivered a stale image ends with that image, and with ``servesStaleOnDisconnect`` a stale image
    /// in memory is the result. A stale response on disk has to be read first: to get it in time, set
    /// ``Limits/totalTimeout`` to less. Work that no other load waits for is cancelled; in a queue it sends no request.
    /// The revalidation in the background has no deadline. Not part of the keys by which requests are coalesced.
    public var deadline: Duration? {
        get { options.value.deadline }
        set { changeRest { $0.deadline = newValue } }
    }
    /// The order of the load among queued loads of its priority, by default nil for that of the pipeline, and in an
    /// ``ImageLoader`` for ``ImagePipeline/LoadOrder/lastInFirstOut``. A load that joins one in progress leaves it in
    /// its place, unless it raises its priority. Not part of the keys by which requests are coalesced.
    public var order: ImagePipeline.LoadOrder? {
        get { options.value.order }
        set { changeRest { $0.order = newValue } }
    }
    /// The policy for retries after transient failures, by default nil for that of the pipeline. With
    /// ``RetryPolicy/maximumRetries`` 0, none follows. Loads that share a fetch have the policy with the most retries
    /// of theirs. Not part of the keys by which requests are coalesced.
    public var retry: RetryPolicy? {
        get { options.value.retry }
        set { changeRest { $0.retry = newValue } }
    }
    /// Text of the program's own, by name: for hooks, as ``ImagePipeline/OutgoingRequest/userInfo`` and
    /// ``ImagePipeline/ReceivedHead/userInfo``, the log, and callbacks, as the ``ImageTask/request`` of a task. Hooks
    /// of a fetch that several loads share get that of the first. Not part of the keys by which requests are coalesced,
    /// so it must not change the result.
    public var userInfo: [String: String] {
        get { options.value.userInfo }
        set { changeRest { $0.userInfo = newValue } }
    }
    /// The limits of the load: times, bytes, pixels, memory and redirects. Not part of the keys by which requests are
    /// coalesced.
    public var limits: Limits {
        get { options.value.limits }
        set { changeRest { $0.limits = newValue } }
    }

    /// Creates a request for a URL in text form.
    ///
    /// - Parameters:
    ///   - url: an absolute URL. It is not validated here: if it is invalid, the load fails.
    ///   - resize: the target size; if nil, the image keeps its own.
    ///   - processors: the processors applied to the resized image, in this order.
    ///   - priority: the urgency of the load.
    public init(
        _ url: String, resize: Resize? = nil, processors: [any ImageProcessing] = [], priority: Priority = .normal
    ) {
        self.url = url
        self.resize = resize
        self.priority = priority
        if !processors.isEmpty { changeRest { $0.processors = processors.map(ImageProcessor.init) } }
    }

    /// Creates a request for an image from the program's own code.
    ///
    /// - Parameters:
    ///   - source: the source of the image, whose identity takes the place of the URL.
    ///   - resize: the target size; if nil, the image keeps its own.
    ///   - processors: the processors applied to the resized image, in this order.
    ///   - priority: the urgency of the load.
    public init(
        source: Source, resize: Resize? = nil, processors: [any ImageProcessing] = [], priority: Priority = .normal
    ) {
        let url = ResourceURL(source: source.identity).string
        self.init(url, resize: resize, processors: processors, priority: priority)
        changeRest { $0.source = source }
    }

    /// Creates a request for a URL.
    ///
    /// - Parameters:
    ///   - url: an absolute URL. If it is relative, the load fails.
    ///   - resize: the target size; if nil, the image keeps its own.
    ///   - processors: the processors applied to the resized image, in this order.
    ///   - priority: the urgency of the load.
    public init(
        _ url: URL, resize: Resize? = nil, processors: [any ImageProcessing] = [], priority: Priority = .normal
    ) {
        self.init(url.absoluteString, resize: resize, processors: processors, priority: priority)
    }

    /// Creates a request for a URL. Equivalent to ``init(_:resize:processors:priority:)-(URL,_,_,_)``.
    public init(
        url: URL, resize: Resize? = nil, processors: [any ImageProcessing] = [], priority: Priority = .normal
    ) {
        self.init(url, resize: resize, processors: processors, priority: priority)
    }
}

/// Requests are equal if all of their properties are. Sources and processors are compared by their identities.
extension ImageRequest: Hashable {
    public static func == (left: ImageRequest, right: ImageRequest) -> Bool {
        left.url == right.url && left.resize == right.resize && left.priority == right.priority
            && (left.options === right.options || left.options.value == right.options.value)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(url)
        hasher.combine(resize)
        hasher.combine(priority)
        hasher.combine(options.value)
    }
}

extension ImageRequest {
    /// The number of fallbacks to try. Further ones are ignored.
    var fallbackCount: Int { hasDefaults ? 0 : min(fallbacks.count, Int(UInt16.max)) }

    /// Returns the same request for a fallback, counted from 1, or nil if there is no such fallback.
    func fallback(_ number: Int) -> ImageRequest? {
        guard number > 0, number <= fallbackCount else { return nil }
        var request = self
        let next = fallbacks[number - 1]
        let isSameOrigin = Self.areSameOrigin(url, next)
        request.url = next
        request.changeRest { values in
            values.fallbacks = []
            // The identity and the source belong to the first URL.
            values.identity = nil
            values.source = nil
            guard !isSameOrigin else { return }
            // Fields for the first origin are dropped, as after a redirect to another origin.
            values.originFields = HTTPFields()
            for name in RedirectPolicy.ownFields { values.fields.remove(name) }
        }
        return request
    }

    private static func areSameOrigin(_ first: String, _ second: String) -> Bool {
        guard let first = try? ResourceURL(first).origin, let second = try? ResourceURL(second).origin else {
            return false
        }
        return first == second
    }

    /// The folder that the body of a download is written to while it is received; nil for other loads.
    var downloadFolder: String? {
        get { options.value.downloadFolder }
        set { changeRest { $0.downloadFolder = newValue } }
    }

    /// Whether both requests send the same values for the fields with these names (in lower case).
    func agrees(with other: ImageRequest, in names: Set<String>) -> Bool {
        names.allSatisfy {
            fields.values($0) == other.fields.values($0)
                && originFields.values($0) == other.originFields.values($0)
        }
    }

    private struct Values: Sendable, Hashable {
        var method = "GET"
        var fields = HTTPFields()
        var originFields = HTTPFields()
        var body: Bytes?
        var processors: [ImageProcessor] = []
        var pixelOrder = PixelBuffer.Format.Order.rgba
        var premultipliesAlpha = false
        var limits = Limits()
        var deadline: Duration?
        var retry: RetryPolicy?
        var order: ImagePipeline.LoadOrder?
        var readsMemory = true
        var writesMemory = true
        var userInfo: [String: String] = [:]
        var identity: String?
        var cachePolicy = CachePolicy.obey
        var servesStaleOnDisconnect = false
        var verifiesStoredImage = false
        var followsRedirects = true
        var expectsImage = false
        var storedRepresentation = StoredRepresentation.original
        var keepsMetadata = false
        var keepsBody = false
        var decoder: String?
        var page = 0
        var checksum: Checksum?
        var fallbacks: [String] = []
        var source: Source?
        var previews: PreviewOptions?
        var allowsPartialImage = false
        var allowsStaleFromMemory = false
        var downloadFolder: String?
    }

    // Immutable, because every load reads it many times, and reads of a variable are checked for exclusive access.
    private final class Options: Sendable {
        static let standard = Options(Values())

        let value: Values

        init(_ value: Values) {
            self.value = value
        }
    }

    /// Whether all properties but URL, size and priority have their defaults.
    var hasDefaults: Bool { options === Options.standard }

    private mutating func changeRest(_ change: (inout Values) -> Void) {
        var values = options.value
        change(&values)
        options = Options(values)
    }
}
