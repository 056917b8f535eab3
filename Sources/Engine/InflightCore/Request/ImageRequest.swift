#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What is wanted: a URL, how it is asked for, and what is to be made of the answer. A value; copying it is cheap.
///
/// Nothing is checked here: a URL that cannot be loaded, or a size of zero, is the error of the load.
public struct ImageRequest: Sendable {
    /// The bounds that one load keeps. Each says what it counts.
    public struct Limits: Sendable, Hashable {
        /// For name, connection and TLS together. `nil`: none.
        public var connectTimeout: Duration? = .seconds(10)
        /// The longest time without a byte in either direction. A response's head has to be whole as long after
        /// its first line. `nil`: none.
        public var stallTimeout: Duration? = .seconds(15)
        /// For the whole fetch with its redirects, from its start; waiting for a turn is not counted. `nil`: none.
        public var totalTimeout: Duration?
        /// The rate below which a transfer ends with ``LoadError/Code/timedOut``, in bytes of the body on the wire per
        /// second, averaged over ``minimumRatePeriod``. It is measured from the first byte of the body; time in which
        /// the pipeline has paused the transfer does not count. 0 disables it.
        public var minimumBytesPerSecond: Int = 1024
        /// The period over which ``minimumBytesPerSecond`` is averaged: what a slow transfer is given at least.
        public var minimumRatePeriod: Duration = .seconds(30)
        /// Bytes of the body on the wire, and again after its content coding is undone.
        public var maximumBodyBytes: Int64 = 200_000_000
        /// Width × height by the picture's header.
        public var maximumPixels: Int = 100_000_000
        /// Bytes of memory for one decode, estimated from the picture's header.
        public var maximumDecodeBytes: Int = 1 << 30
        /// How many redirects are followed; 0 for none.
        public var maximumRedirects: Int = 20

        public init() {}
    }

    /// An absolute URL: `http`, `https`, `file`, `data`, or what other transports of the pipeline serve.
    public var url: String
    /// The wanted size; `nil`: the picture's own.
    public var resize: Resize?
    public var priority: LoadPriority
    /// Everything that most requests leave as it is: shared until it is changed, so that a request stays small.
    private var rest = Rest.standard

    public var method: String {
        get { rest.value.method }
        set { changeRest { $0.method = newValue } }
    }
    /// Sent to every host that the load comes to, but for `Authorization`, `Cookie` and `Proxy-Authorization`, which
    /// never follow a redirect to another origin.
    public var fields: HTTPFields {
        get { rest.value.fields }
        set { changeRest { $0.fields = newValue } }
    }
    /// Sent to the URL's own origin alone: they never follow a redirect to another.
    public var originFields: HTTPFields {
        get { rest.value.originFields }
        set { changeRest { $0.originFields = newValue } }
    }
    public var body: Bytes? {
        get { rest.value.body }
        set { changeRest { $0.body = newValue } }
    }
    /// What is done to the decoded picture, in this order.
    public var processors: [ImageProcessor] {
        get { rest.value.processors }
        set { changeRest { $0.processors = newValue } }
    }
    /// The byte order of the pixels; GTK and Cairo want `.bgra`, with ``premultipliesAlpha``.
    public var pixelOrder: PixelBuffer.Format.Order {
        get { rest.value.pixelOrder }
        set { changeRest { $0.pixelOrder = newValue } }
    }
    public var premultipliesAlpha: Bool {
        get { rest.value.premultipliesAlpha }
        set { changeRest { $0.premultipliesAlpha = newValue } }
    }
    /// What the picture is known by instead of its URL, where that is signed or changes otherwise: loads of one identity
    /// share their work and their place in the caches, whatever their URLs, and the one that came first is asked.
    /// Everything else that makes loads differ (method, fields, body, limits) still does.
    public var identity: String? {
        get { rest.value.identity }
        set { changeRest { $0.identity = newValue } }
    }
    /// Asked one after the other where the load of ``url`` fails. The error of a load is that of the last one.
    /// They take no part in what makes loads the same.
    public var fallbacks: [String] {
        get { rest.value.fallbacks }
        set { changeRest { $0.fallbacks = newValue } }
    }
    /// What is wanted of what is stored of earlier answers. With ``CachePolicy/refresh``, ``CachePolicy/reload`` and
    /// ``CachePolicy/noStore`` pictures in memory are not looked at either.
    public var cachePolicy: CachePolicy {
        get { rest.value.cachePolicy }
        set { changeRest { $0.cachePolicy = newValue } }
    }
    /// Whether a stale response is used when the origin cannot be reached, whatever its age (RFC 9111 section 4.2.4): the
    /// connection or the name lookup fails, times out or breaks. The result says that it is stale. `must-revalidate`,
    /// `no-cache`, ``CachePolicy/refresh`` and ``CachePolicy/reload`` forbid it. The default is `false`: then only a response
    /// that says `stale-if-error` is used so.
    public var servesStaleOnDisconnect: Bool {
        get { rest.value.servesStaleOnDisconnect }
        set { changeRest { $0.servesStaleOnDisconnect = newValue } }
    }
    /// Whether the memory cache serves the image when it is stale, as if HTTP had no say: for lists that are scrolled back
    /// and forth, where the same image at once is worth more than the newest. What is served so says that it is
    /// (``LoadedImage/isStale``). An image of which the pipeline knows a newer response is not served. It takes no part in
    /// what makes loads the same. See ``ImagePipeline/Configuration/allowsStaleFromMemory`` for all loads.
    public var allowsStaleFromMemory: Bool {
        get { rest.value.allowsStaleFromMemory }
        set { changeRest { $0.allowsStaleFromMemory = newValue } }
    }
    /// Whether a picture is expected, where bytes are asked for: what is none, as the page of a network that wants to be
    /// paid first, is given to the caller all the same, but not kept in a store. What is stored is looked through first:
    /// where its structure is broken its entry is removed, and the server asked once more.
    public var expectsPicture: Bool {
        get { rest.value.expectsPicture }
        set { changeRest { $0.expectsPicture = newValue } }
    }
    /// Whether the pixels of a stored image are decoded too, before its bytes are given to a caller that expects an image:
    /// what does not decode is removed, and fetched once more. Costs a decode of what is stored, within ``limits`` and while
    /// the memory for decodes lasts.
    public var verifiesStoredImage: Bool {
        get { rest.value.verifiesStoredImage }
        set { changeRest { $0.verifiesStoredImage = newValue } }
    }
    /// What a store keeps of a picture that is loaded from a server. It takes no part in what makes loads the same: the
    /// bytes are kept where anybody who waits for them wants that.
    public var storedForm: StoredForm {
        get { rest.value.storedForm }
        set { changeRest { $0.storedForm = newValue } }
    }
    /// Which page of a picture that has several, TIFF alone here, from 0: see ``DecodeOptions/page``. ``ImagePipeline/info(for:)``
    /// tells of the first alone.
    public var page: Int {
        get { rest.value.page }
        set { changeRest { $0.page = newValue } }
    }
    /// Whether what the file says beside its pixels comes with the picture, as ``LoadedImage/metadata``, and is written into
    /// processed pictures that a store keeps. It is part of what makes pictures the same.
    public var keepsMetadata: Bool {
        get { rest.value.keepsMetadata }
        set { changeRest { $0.keepsMetadata = newValue } }
    }
    /// What the body's bytes have to add up to, its content coding undone. What does not fails as
    /// ``LoadError/Code/damaged``, and is not kept in a store.
    public var checksum: Checksum? {
        get { rest.value.checksum }
        set { changeRest { $0.checksum = newValue } }
    }
    /// Whether redirects are followed. If not, ``ImagePipeline/response(for:)`` gives the redirect itself, and everything
    /// else fails with its status.
    public var followsRedirects: Bool {
        get { rest.value.followsRedirects }
        set { changeRest { $0.followsRedirects = newValue } }
    }
    /// Whether of a picture that is cut short or damaged what can be decoded is good enough: it is marked
    /// (``LoadedImage/isIncomplete``), and kept nowhere. What was stored and turns out to be damaged is fetched again first.
    public var acceptsIncomplete: Bool {
        get { rest.value.acceptsIncomplete }
        set { changeRest { $0.acceptsIncomplete = newValue } }
    }
    /// Whether what there is of the picture is shown while it comes, to those who hear of it: by the events of
    /// ``ImagePipeline/events(for:)``, by ``ImagePipeline``'s `preview` callbacks and by ``ImageLoader``. `nil`: it is not.
    /// It takes no part in what makes loads the same. What is stored already is there at once and has no previews.
    public var previews: PreviewOptions? {
        get { rest.value.previews }
        set { changeRest { $0.previews = newValue } }
    }
    /// Where the bytes or the picture come from instead of ``url``.
    public var source: ImageSource? { rest.value.source }
    public var limits: Limits {
        get { rest.value.limits }
        set { changeRest { $0.limits = newValue } }
    }

    /// A request for the text of a URL.
    public init(_ url: String, resize: Resize? = nil, priority: LoadPriority = .normal) {
        self.url = url
        self.resize = resize
        self.priority = priority
    }

    /// A request for what a program's own code gives.
    public init(source: ImageSource, resize: Resize? = nil, priority: LoadPriority = .normal) {
        self.init(ResourceURL(source: source.identity).string, resize: resize, priority: priority)
        changeRest { $0.source = source }
    }

    /// A request for a URL.
    public init(url: URL, resize: Resize? = nil, priority: LoadPriority = .normal) {
        self.init(url.absoluteString, resize: resize, priority: priority)
    }
}

extension ImageRequest {
    /// How many fallbacks count: more than these are not asked.
    var fallbackCount: Int { isUsual ? 0 : min(fallbacks.count, Int(UInt16.max)) }

    /// The same wish for a fallback, counted from 1; `nil` where there is none of that number.
    func fallback(_ number: Int) -> ImageRequest? {
        guard number > 0, number <= fallbackCount else { return nil }
        var request = self
        let next = fallbacks[number - 1]
        let isSameOrigin = Self.haveOneOrigin(url, next)
        request.url = next
        request.changeRest { values in
            values.fallbacks = []
            // Both are the first URL's.
            values.identity = nil
            values.source = nil
            guard !isSameOrigin else { return }
            // As after a redirect to another origin.
            values.originFields = HTTPFields()
            for name in RedirectPolicy.ownFields { values.fields.remove(name) }
        }
        return request
    }

    private static func haveOneOrigin(_ first: String, _ second: String) -> Bool {
        guard let first = try? ResourceURL(first).origin, let second = try? ResourceURL(second).origin else {
            return false
        }
        return first == second
    }

    /// Whether both requests send the same values of the fields of these names (in lower case).
    func agrees(with other: ImageRequest, in names: Set<String>) -> Bool {
        names.allSatisfy {
            fields.values($0) == other.fields.values($0)
                && originFields.values($0) == other.originFields.values($0)
        }
    }

    private struct Values: Sendable {
        var method = "GET"
        var fields = HTTPFields()
        var originFields = HTTPFields()
        var body: Bytes?
        var processors: [ImageProcessor] = []
        var pixelOrder = PixelBuffer.Format.Order.rgba
        var premultipliesAlpha = false
        var limits = Limits()
        var identity: String?
        var cachePolicy = CachePolicy.obey
        var servesStaleOnDisconnect = false
        var verifiesStoredImage = false
        var followsRedirects = true
        var expectsPicture = false
        var storedForm = StoredForm.original
        var keepsMetadata = false
        var page = 0
        var checksum: Checksum?
        var fallbacks: [String] = []
        var source: ImageSource?
        var previews: PreviewOptions?
        var acceptsIncomplete = false
        var allowsStaleFromMemory = false
    }

    // Unchecked: changed only by `changeRest`, while a single request holds it.
    private final class Rest: @unchecked Sendable {
        static let standard = Rest(Values())

        var value: Values

        init(_ value: Values) {
            self.value = value
        }
    }

    /// Whether everything but URL, size and priority is as it is in most requests.
    var isUsual: Bool { rest === Rest.standard }

    private mutating func changeRest(_ change: (inout Values) -> Void) {
        if !isKnownUniquelyReferenced(&rest) { rest = Rest(rest.value) }
        change(&rest.value)
    }
}
