import InflightConcurrency

/// A validated request with its parsed URL and its keys. Later stages run no code of the caller but its processors.
final class RequestPlan: Sendable {
    enum Goal: Sendable {
        case image
        /// A file of the image, encoded with the options of the request's stored representation.
        case encoded
        /// The bytes, only if the status says that they are the requested resource.
        case data
        /// The response, whatever its status.
        case response
        /// The information in the image's header, reading no more bytes than that needs.
        case info

        /// Whether the bytes are decoded.
        var makesImage: Bool { self == .image || self == .encoded }
    }

    /// The reason for the request.
    enum Purpose: Sendable, Equatable {
        case usual
        /// The store served a stale result, an image or not; this request fetches its successor.
        case revalidation(ofImage: Bool)
        /// The stored data turned out to be unusable.
        case refetch
        /// The image is looked up in the store as its first `prefix` processors produced it. Nothing is fetched.
        /// An image whose response the origin has confirmed at `confirmedAt` or later may be used, even if it is stale.
        // Indirect, because it is rare, and its payload would make every plan larger.
        indirect case processed(prefix: Int, confirmedAt: WallTime?)

        /// The time of the confirmation of a processed image, if it is looked up after one.
        var confirmedAt: WallTime? { if case .processed(_, let time) = self { time } else { nil } }

        /// Whether the image after this number of processors is looked up in the store.
        func isLookUp(ofImageAfter count: Int) -> Bool {
            if case .processed(count, _) = self { true } else { false }
        }

        /// The number of processors that made the image that is looked up in the store.
        var storedProcessors: Int { if case .processed(let prefix, _) = self { prefix } else { 0 } }
    }

    // In this order, the small properties leave no gap.
    let request: ImageRequest
    let goal: Goal
    /// The number of steps: fetch, decode, and one for each processor to apply.
    private let steps: Int32
    let url: ResourceURL
    private let extras: Extras?
    var origin: OriginKey { url.originKey }
    /// The key of the caller's result, which contains those of the steps before.
    let finalKey: RequestKey

    /// What few plans of a long queue have.
    private final class Extras: Sendable {
        let purpose: Purpose
        let varying: Set<String>
        let cookies: ImagePipeline.CookieStore.Selection?

        init(_ purpose: Purpose, _ varying: Set<String>, _ cookies: ImagePipeline.CookieStore.Selection?) {
            self.purpose = purpose
            self.varying = varying
            self.cookies = cookies
        }
    }

    var purpose: Purpose { extras?.purpose ?? .usual }
    /// The harmless fields, in lower case, by which a response was found to vary. They are part of the keys.
    var varying: Set<String> { extras?.varying ?? [] }
    /// The cookies of the pipeline that the first request sends; nil if it keeps none. They are part of the keys.
    var cookies: ImagePipeline.CookieStore.Selection? { extras?.cookies }
    /// The index of the first processor to apply. Those before it produced the image that is looked up in the store.
    var firstProcessor: Int { purpose.storedProcessors }

    /// - Parameters:
    ///   - cookieStore: the pipeline's cookies, of which the plan takes those for the URL.
    ///   - cookies: those that another plan of the same request has taken.
    init(
        _ request: ImageRequest, goal: Goal, fieldsExcludedFromKey: Set<String>, varying: Set<String> = [],
        purpose: Purpose = .usual, cookieStore: ImagePipeline.CookieStore? = nil,
        cookies: ImagePipeline.CookieStore.Selection? = nil
    ) throws(LoadError) {
        let url: ResourceURL
        if let source = request.source {
            url = ResourceURL(source: source.identity)
        } else {
            url = try ResourceURL(request.url)
        }
        try Self.check(request, url: url)
        guard goal != .info || request.page == 0 else {
            throw LoadError(
                .invalidRequest, stage: .request, url: url.string,
                message: "Image information covers the first page only. Load the bytes and call codecs.info(of:page:).")
        }
        self.request = request
        self.url = url
        self.goal = goal
        let cookies = cookies ?? cookieStore?.selection(for: url)
        extras = purpose == .usual && varying.isEmpty && cookies == nil ? nil : Extras(purpose, varying, cookies)
        let fetchKey = FetchKey(
            request, url: url, goal: goal, purpose: purpose, ignored: fieldsExcludedFromKey.subtracting(varying),
            varying: varying, cookies: cookies?.cookies ?? [])
        // A stored file of the wanted image is the result.
        let isLookUpOfFile = goal == .encoded && purpose.isLookUp(ofImageAfter: request.processors.count)
        guard goal.makesImage, !isLookUpOfFile else {
            finalKey = fetchKey
            steps = 1
            return
        }
        let processors = request.processors[purpose.storedProcessors...]
        let decodeKey: RequestKey = DecodeKey(
            after: fetchKey, options: Self.decodeOptions(request, purpose), flags: DecodeKey.Flags(request))
        let imageKey = processors.reduce(decodeKey) { ProcessKey(after: $0, identity: $1.identity) }
        steps = Int32(2 + processors.count + (goal == .encoded ? 1 : 0))
        finalKey = goal == .encoded ? ProcessKey(after: imageKey, encoding: request) : imageKey
    }

    /// Returns the plan whose keys identify images in memory, the same for every purpose and policy, or nil if none are
    /// stored. May call processors for their identity, so it must not be called under a lock.
    ///
    /// - Parameter kept: `.image` for decoded images, `.encoded` for files of them.
    func memoryPlan(_ fieldsExcludedFromKey: Set<String>, for kept: Goal = .image) -> RequestPlan? {
        guard goal == kept || goal == .encoded else { return nil }
        if request.hasDefaults, purpose == .usual { return self }
        guard request.cachePolicy != .noStore, !requestControl.noStore else { return nil }
        if purpose == .usual, request.cachePolicy == .obey, goal == kept { return self }
        var usual = request
        usual.cachePolicy = .obey
        return try? RequestPlan(
            usual, goal: kept, fieldsExcludedFromKey: fieldsExcludedFromKey, varying: varying, cookies: cookies)
    }

    /// Returns the key of the result of the step at a position.
    func key(at position: Int) -> RequestKey {
        var key = finalKey
        for _ in position..<stepCount - 1 { key = key.before ?? key }
        return key
    }

    /// Returns the key of the image after the first `count` processors to apply.
    func imageKey(_ count: Int) -> RequestKey { key(at: 1 + count) }

    /// The request's own `Cache-Control`.
    private var requestControl: CacheControl {
        request.fields.isEmpty ? CacheControl() : CacheControl(request: request.fields)
    }

    /// Whether the request allows an image from memory. Directives that need its exact age are left to the store.
    private var allowsMemory: Bool {
        guard !request.cachePolicy.needsNewResult else { return false }
        let control = requestControl
        return !control.noCache && !control.noStore && control.maxAge == nil && control.minFresh == nil
    }

    /// Returns the key of a response's ``ImageLifetime``. It does not contain limits and policy.
    func resource(after redirected: RedirectPolicy.Exchange?, fieldsExcludedFromKey: Set<String>) -> LifetimeTable.Key {
        let name = redirected?.url.string ?? request.identity.map { "identity " + $0 } ?? url.string
        if redirected == nil, request.hasDefaults, url.userInfo == nil, !sendsCookies {
            return LifetimeTable.Key(name: name)
        }
        let exchange = redirected ?? firstExchange()
        let ignored = fieldsExcludedFromKey.subtracting(varying)
        var rest: [UInt8] = exchange.method == "GET" ? [] : Array(exchange.method.utf8) + [0]
        exchange.fields.appendKey(ignoring: ignored, to: &rest)
        exchange.originFields.appendKey(ignoring: ignored, to: &rest)
        if !exchange.cookies.isEmpty, !ignored.contains("cookie") {
            SecretHash.append(CookieJar.fieldValue(exchange.cookies), to: &rest)
        }
        if let body = exchange.body { SecretHash.append(body.array, to: &rest) }
        return LifetimeTable.Key(name: name, rest: rest)
    }

    /// Whether the bytes have to be an image.
    var requiresImage: Bool {
        goal.makesImage || purpose == .revalidation(ofImage: true) || (!request.hasDefaults && request.expectsImage)
    }

    /// Whether this plan only looks for a stored processed image.
    var isProcessedLookUp: Bool { if case .processed = purpose { true } else { false } }

    /// Whether the first request sends cookies of the pipeline.
    private var sendsCookies: Bool { !(cookies?.cookies.isEmpty ?? true) }

    /// Whether both send the same cookies of the pipeline.
    func agreesInCookies(with other: RequestPlan) -> Bool {
        CookieJar.fieldValue(cookies?.cookies ?? []) == CookieJar.fieldValue(other.cookies?.cookies ?? [])
    }

    /// Returns whether a request after a redirect sends cookies of the pipeline that the keys do not contain.
    func hasNoKey(for exchange: RedirectPolicy.Exchange, fieldsExcludedFromKey: Set<String>) -> Bool {
        guard let cookies, !fieldsExcludedFromKey.subtracting(varying).contains("cookie") else { return false }
        return !exchange.cookies.allSatisfy { sent in
            cookies.cookies.contains { $0.isSame(as: sent) }
        }
    }

    var checksum: Checksum? { request.hasDefaults ? nil : request.checksum }

    /// Whether a store might serve the request without contacting the origin.
    var mayBeStored: Bool {
        url.origin != nil && request.source == nil && request.cachePolicy != .noStore
            && (request.hasDefaults || CachingRequest.isReading(request.method))
    }

    /// Whether an image in memory may be served.
    var mayBeInMemory: Bool {
        purpose == .usual && (request.hasDefaults || allowsMemory)
    }

    var stepCount: Int { Int(steps) }

    /// Whether to look in the store for the processed image.
    var looksForProcessed: Bool {
        goal.makesImage && purpose == .usual && !request.hasDefaults
            && request.storedRepresentation.processedOptions != nil && !request.keepsBody
            && mayBeStored && !request.cachePolicy.needsNewResult && request.method == "GET" && request.checksum == nil
    }

    func decodeOptions() -> DecodeOptions { Self.decodeOptions(request, purpose) }

    private static func decodeOptions(_ request: ImageRequest, _ purpose: Purpose) -> DecodeOptions {
        let isStoredImage = if case .processed = purpose { true } else { false }
        var options = DecodeOptions(resize: isStoredImage ? nil : request.resize)
        options.order = request.pixelOrder
        options.premultiplied = request.premultipliesAlpha
        options.maximumPixels = request.limits.maximumPixels
        options.maximumMemory = request.limits.maximumDecodeBytes
        // A stored processed image has one page.
        options.page = isStoredImage ? 0 : request.page
        return options
    }

    private static func check(_ request: ImageRequest, url: ResourceURL) throws(LoadError) {
        func refuse(_ message: String) -> LoadError {
            LoadError(.invalidRequest, stage: .request, url: url.string, message: message)
        }
        if let side = request.resize?.impossibleSide {
            throw refuse("Invalid size: a side of \(side) pixels. Use 1 to 1,000,000.")
        }
        if request.hasDefaults { return }
        guard RequestRules.isToken(request.method.utf8) else {
            throw refuse("The HTTP method is not a token (RFC 9110 section 9.1).")
        }
        // A line end in a value would allow header injection.
        for fields in [request.fields, request.originFields] {
            for index in 0..<fields.count {
                if let problem = RequestRules.problem(withField: index, of: fields) { throw refuse(problem) }
            }
        }
        guard request.processors.count <= 10_000 else {
            throw refuse("Too many processors: \(request.processors.count). Use at most 10,000.")
        }
        let limits = request.limits
        guard limits.maximumBodyBytes >= 0, limits.maximumPixels >= 0, limits.maximumDecodeBytes >= 0,
            limits.maximumRedirects >= 0, limits.minimumBytesPerSecond >= 0
        else { throw refuse("Invalid limit: it must not be negative.") }
        let timeouts = [limits.connectTimeout, limits.stallTimeout, limits.totalTimeout, request.deadline]
        guard timeouts.allSatisfy({ ($0 ?? .zero) >= .zero }) else {
            throw refuse("Invalid timeout or deadline: it must not be negative.")
        }
        guard limits.minimumRatePeriod > .zero else {
            throw refuse(
                "Invalid minimumRatePeriod: it must be positive. To disable the limit, set minimumBytesPerSecond to 0.")
        }
    }
}

// The outgoing request, before hooks and conditional header fields are added.

extension RequestPlan {
    /// - Parameters:
    ///   - redirected: the exchange after a redirect; nil for the first exchange.
    ///   - defaultFields: the default header fields, which the caller's own replace.
    func outgoing(
        after redirected: RedirectPolicy.Exchange?, defaultFields: HTTPFields, limits: TransportRequest.Limits,
        priority: ImageRequest.Priority
    ) -> TransportRequest {
        // Fast path: nothing has to be built.
        if redirected == nil, goal != .response, request.fields.isEmpty, request.originFields.isEmpty,
            url.userInfo == nil, !sendsCookies
        {
            return TransportRequest(
                url: url, method: request.method, fields: url.origin == nil ? HTTPFields() : defaultFields,
                body: request.body, limits: limits, priority: priority)
        }
        let exchange = redirected ?? firstExchange()
        var fields = exchange.sentFields
        if exchange.url.origin != nil {
            for index in 0..<defaultFields.count {
                let name = defaultFields.name(index)
                // A caller that accepts any response sets its own `Accept`.
                guard !fields.contains(name), goal != .response || name != "Accept" else { continue }
                fields.append(name: defaultFields.rawName(index), value: defaultFields.rawValue(index))
            }
        }
        return TransportRequest(
            url: exchange.url, method: exchange.method, fields: fields, body: exchange.body, limits: limits,
            priority: priority)
    }

    func firstExchange() -> RedirectPolicy.Exchange {
        var exchange = RedirectPolicy.Exchange(
            url: url, method: request.method, fields: request.fields, originFields: request.originFields,
            body: request.body)
        if let cookies { exchange.cookies = cookies.cookies }
        if url.origin != nil, let userInfo = url.userInfo, !exchange.fields.contains("authorization"),
            !exchange.originFields.contains("authorization")
        {
            exchange.originFields.append("Authorization", "Basic " + Base64.encoded(Array(userInfo.utf8)))
        }
        return exchange
    }

    /// Returns the key of stored responses, and the request to match them against.
    func stored(
        after redirected: RedirectPolicy.Exchange?, defaultFields: HTTPFields, fieldsExcludedFromKey: Set<String>
    ) -> (StoreKey, CachingRequest) {
        let sent = outgoing(
            after: redirected, defaultFields: defaultFields, limits: TransportRequest.Limits(), priority: .normal)
        let url = sent.url.string
        let identity = redirected == nil ? request.identity : nil
        var caching = CachingRequest(
            method: sent.method, url: url, fields: sent.fields, policy: request.cachePolicy)
        caching.hasBody = sent.body != nil
        caching.servesStaleOnDisconnect = !request.hasDefaults && request.servesStaleOnDisconnect
        let names = credentialNames(redirected, fieldsExcludedFromKey)
        if names != VaryFields.defaultCredentials {
            caching.fields.append(VaryFields.credentialNames, names.sorted().joined(separator: ", "))
        }
        return (StoreKey(identity.map { "identity " + $0 } ?? url), caching)
    }

    /// Returns the names of the credentials. Fields for the first origin only are credentials too, unless the
    /// configuration excludes them from keys.
    private func credentialNames(
        _ redirected: RedirectPolicy.Exchange?, _ fieldsExcludedFromKey: Set<String>
    ) -> Set<String> {
        let own = redirected?.originFields ?? (request.hasDefaults ? HTTPFields() : request.originFields)
        let names = (0..<own.count).reduce(into: VaryFields.defaultCredentials) {
            $0.insert(own.name($1).lowercased())
        }
        return names.subtracting(fieldsExcludedFromKey)
    }
}
