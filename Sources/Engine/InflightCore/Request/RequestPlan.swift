import InflightConcurrency

/// A validated request with its parsed URL and its keys. Later stages run no code of the caller but its processors.
final class RequestPlan: Sendable {
    enum Goal: Sendable {
        case image
        /// The bytes, only if the status says that they are the requested resource.
        case data
        /// The response, whatever its status.
        case response
        /// The information in the image's header, reading no more bytes than that needs.
        case info
    }

    /// The reason for the request.
    enum Purpose: Sendable, Equatable {
        case usual
        /// The store served a stale result, an image or not; this request fetches its successor.
        case revalidation(ofPicture: Bool)
        /// The stored data turned out to be unusable.
        case refetch
        /// The image is looked up in the store as its first `prefix` processors produced it. Nothing is fetched.
        case processed(prefix: Int)

        /// The bytes that separate the keys of different purposes.
        fileprivate var keyBytes: [UInt8] {
            switch self {
            case .usual: []
            case .revalidation(let ofPicture): [ofPicture ? 7 : 8]
            case .refetch: [10]
            case .processed: [15]
            }
        }
    }

    let request: ImageRequest
    let purpose: Purpose
    let url: ResourceURL
    let goal: Goal
    /// The harmless fields, in lower case, by which a response was found to vary. They are part of the keys.
    let varying: Set<String>
    var origin: OriginKey { url.originKey }
    let fetchKey: FetchKey
    /// The key of the decode; nil if the goal is not an image.
    let decodeKey: DecodeKey?
    /// The index of the first processor to apply. Those before it produced the image that is looked up in the store.
    let firstProcessor: Int
    /// One key for each prefix of the processors to apply.
    let processKeys: [ProcessKey]

    init(
        _ request: ImageRequest, goal: Goal, harmlessFields: Set<String>, varying: Set<String> = [],
        purpose: Purpose = .usual
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
        self.purpose = purpose
        self.url = url
        self.goal = goal
        self.varying = varying
        let bytes = Self.fetchBytes(
            request, url: url, goal: goal, ignored: harmlessFields.subtracting(varying), varying: varying)
        var rest = purpose == .usual ? bytes : bytes + purpose.keyBytes
        var firstProcessor = 0
        if case .processed(let prefix) = purpose {
            firstProcessor = prefix
            rest += Array(Self.pictureIdentity(request, prefix, request.storedForm.processedOptions).utf8)
        }
        self.firstProcessor = firstProcessor
        // The space keeps identities apart from URLs, which have none.
        let fetchKey = FetchKey(url: request.identity.map { "identity " + $0 } ?? url.string, rest: rest)
        self.fetchKey = fetchKey
        guard goal == .image else {
            decodeKey = nil
            processKeys = []
            return
        }
        let decodeKey = DecodeKey(
            fetch: fetchKey, options: Self.decodeOptions(request, purpose),
            wishes: Self.wishes(request))
        self.decodeKey = decodeKey
        if request.processors.count == firstProcessor {
            processKeys = []
        } else {
            let identities = request.processors[firstProcessor...].map(\.identity)
            processKeys = (1...identities.count).map {
                ProcessKey(decode: decodeKey, identities: Array(identities[..<$0]))
            }
        }
    }

    /// Returns the memory cache key of a step's image (0 is the decoded one), the same for every purpose and policy, or
    /// nil if it is not cached. May call processors for their identity, so it must not be called under a lock.
    func memoryKey(at step: Int, harmlessFields: Set<String>) -> JobKey? {
        memoryPlan(harmlessFields)?.imageKey(firstProcessor + step)
    }

    /// Returns the plan whose keys identify images in memory: see ``memoryKey(at:harmlessFields:)``.
    func memoryPlan(_ harmlessFields: Set<String>) -> RequestPlan? {
        guard goal == .image else { return nil }
        if request.isUsual, purpose == .usual { return self }
        guard request.cachePolicy != .noStore, !requestControl.noStore else { return nil }
        if purpose == .usual, request.cachePolicy == .obey { return self }
        var usual = request
        usual.cachePolicy = .obey
        return try? RequestPlan(usual, goal: .image, harmlessFields: harmlessFields, varying: varying)
    }

    /// Returns the key of the image after the first `count` processors.
    func imageKey(_ count: Int) -> JobKey { count == 0 ? decodeKey ?? fetchKey : processKeys[count - 1] }

    /// The request's own `Cache-Control`.
    private var requestControl: CacheControl {
        request.fields.isEmpty ? CacheControl() : CacheControl(request: request.fields)
    }

    /// Whether the request allows an image from memory. Directives that need its exact age are left to the store.
    private var allowsMemory: Bool {
        guard !request.cachePolicy.asksAnew else { return false }
        let control = requestControl
        return !control.noCache && !control.noStore && control.maxAge == nil && control.minFresh == nil
    }

    /// Returns the key that separates responses, as far as images in memory are concerned, without limits and policy.
    func resource(after redirected: RedirectPolicy.Exchange?, harmlessFields: Set<String>) -> LifetimeTable.Key {
        let name = redirected?.url.string ?? request.identity.map { "identity " + $0 } ?? url.string
        if redirected == nil, request.isUsual, url.userInfo == nil { return LifetimeTable.Key(name: name) }
        let exchange = redirected ?? firstExchange()
        let ignored = harmlessFields.subtracting(varying)
        var rest: [UInt8] = exchange.method == "GET" ? [] : Array(exchange.method.utf8) + [0]
        Self.append(exchange.fields, ignored: ignored, to: &rest)
        Self.append(exchange.originFields, ignored: ignored, to: &rest)
        if let body = exchange.body { SecretHash.append(body.array, to: &rest) }
        return LifetimeTable.Key(name: name, rest: rest)
    }

    /// Whether only an image is of use.
    var wantsPicture: Bool {
        goal == .image || purpose == .revalidation(ofPicture: true) || (!request.isUsual && request.expectsPicture)
    }

    /// Whether this plan only looks for a stored processed image.
    var isProcessedLookUp: Bool { if case .processed = purpose { true } else { false } }

    var checksum: Checksum? { request.isUsual ? nil : request.checksum }

    /// Whether a store might serve the request without contacting the origin.
    var mayBeStored: Bool {
        url.origin != nil && request.source == nil && request.cachePolicy != .noStore
            && (request.isUsual || CachingRequest.isReading(request.method))
    }

    /// Whether an image in memory may be served.
    var mayBeInMemory: Bool {
        purpose == .usual && (request.isUsual || allowsMemory)
    }

    /// The number of steps: fetch, decode, and one for each processor.
    var stepCount: Int { decodeKey == nil ? 1 : 2 + processKeys.count }

    /// The key of the caller's result.
    var finalKey: JobKey { processKeys.last ?? decodeKey ?? fetchKey }

    /// Whether to look in the store for the processed image.
    var looksForProcessed: Bool {
        goal == .image && purpose == .usual && !request.isUsual && request.storedForm.processedOptions != nil
            && mayBeStored && !request.cachePolicy.asksAnew && request.method == "GET" && request.checksum == nil
    }

    /// Returns the identity of the image after the first `count` processors, which separates it from other images of
    /// the same bytes. It is the same in every process.
    func pictureIdentity(_ count: Int, _ options: EncodeOptions?) -> String {
        Self.pictureIdentity(request, count, options)
    }

    private static func pictureIdentity(_ request: ImageRequest, _ count: Int, _ options: EncodeOptions?) -> String {
        var parts: [String] = []
        if request.page != 0 { parts.append("page \(request.page)") }
        if let resize = request.resize { parts.append("resize " + resize.identity) }
        parts += request.processors.prefix(count).map { "process " + $0.identity }
        if let options {
            let background = options.background.map(String.init).joined(separator: ",")
            parts.append("as \(options.format) \(options.quality.map(String.init) ?? "") \(background)")
            if options.isProgressive { parts.append("progressive") }
            if options.isLossless { parts.append("lossless") }
            if let metadata = options.metadata {
                var hash = SHA256()
                for bytes in [metadata.exifBytes, metadata.xmpBytes] {
                    hash.append(Array("\(bytes?.count ?? -1) ".utf8) + (bytes?.array ?? []))
                }
                parts.append("with \(hash.hex)")
            }
            if request.keepsMetadata { parts.append("with its metadata") }
        }
        // A processor's identity may be any text, so each part is hashed with its length.
        var hash = SHA256()
        for part in parts { hash.append(Array("\(part.utf8.count) \(part)".utf8)) }
        return hash.hex
    }

    private static func wishes(_ request: ImageRequest) -> DecodeKey.Wishes {
        if request.isUsual { return [] }
        var wishes: DecodeKey.Wishes = []
        if request.keepsMetadata { wishes.insert(.keepsMetadata) }
        if request.acceptsIncomplete { wishes.insert(.acceptsIncomplete) }
        return wishes
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
        if request.isUsual { return }
        guard !request.method.isEmpty, request.method.utf8.allSatisfy(isTokenByte) else {
            throw refuse("The HTTP method is not a token (RFC 9110 section 9.1).")
        }
        func check(_ fields: HTTPFields) throws(LoadError) {
            for index in 0..<fields.count {
                guard !fields.rawName(index).isEmpty, fields.rawName(index).allSatisfy(isTokenByte) else {
                    throw refuse("A header field's name is not a token (RFC 9110 section 5.1).")
                }
                // A line end in a value would allow header injection.
                guard fields.rawValue(index).allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                    throw refuse("The value of the header field \(fields.name(index)) contains a control character.")
                }
            }
        }
        try check(request.fields)
        try check(request.originFields)
        guard request.limits.maximumBodyBytes >= 0, request.limits.maximumPixels >= 0,
            request.limits.maximumDecodeBytes >= 0,
            request.limits.maximumRedirects >= 0, request.limits.minimumBytesPerSecond >= 0
        else { throw refuse("Invalid limit: it must not be negative.") }
        func isNegative(_ timeout: Duration?) -> Bool { timeout.map { $0 < .zero } ?? false }
        let limits = request.limits
        if isNegative(limits.connectTimeout) || isNegative(limits.stallTimeout) || isNegative(limits.totalTimeout) {
            throw refuse("Invalid timeout: it must not be negative.")
        }
        guard request.limits.minimumRatePeriod > .zero else {
            throw refuse(
                "Invalid minimumRatePeriod: it must be positive. To disable the limit, set minimumBytesPerSecond to 0.")
        }
    }

    /// RFC 9110 section 5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    // Numbers for exchanges that must not be coalesced.
    private static let exchangeNumbers = Numbers()

    private final class Numbers: Sendable {
        private let last = Guarded<UInt64>(0)

        func next() -> UInt64 {
            last.withLock { last in
                last += 1
                return last
            }
        }
    }

    private static func fetchBytes(
        _ request: ImageRequest, url: ResourceURL, goal: Goal, ignored: Set<String>, varying: Set<String>
    ) -> [UInt8] {
        // Empty for most requests, so that nothing is allocated.
        var bytes: [UInt8] = []
        if !request.isUsual, request.method != "GET" {
            bytes.append(5)
            bytes.append(contentsOf: request.method.utf8)
            bytes.append(0)
        }
        switch goal {
        case .image, .data: break
        case .response where !request.isUsual && !Invalidation.isSafe(request.method):
            // Every request with an unsafe method is sent (RFC 9111 section 4).
            bytes.append(14)
            unsafe withUnsafeBytes(of: exchangeNumbers.next()) { unsafe bytes.append(contentsOf: $0) }
        case .response: bytes.append(1)
        case .info: bytes.append(6)
        }
        // Added even if the request has none of them. Otherwise its key would equal one that ignores these fields.
        if !varying.isEmpty {
            bytes.append(7)
            for name in varying.sorted() {
                bytes.append(contentsOf: name.utf8)
                bytes.append(0)
            }
        }
        if let userInfo = url.userInfo { SecretHash.append(userInfo.utf8, to: &bytes) }
        if request.isUsual { return bytes }
        if !request.fields.isEmpty { append(request.fields, ignored: ignored, to: &bytes) }
        if !request.originFields.isEmpty {
            bytes.append(2)
            append(request.originFields, ignored: ignored, to: &bytes)
        }
        if let body = request.body {
            bytes.append(3)
            SecretHash.append(body.array, to: &bytes)
        }
        if request.cachePolicy != .obey {
            bytes.append(9)
            bytes.append(contentsOf: request.cachePolicy.rawValue.utf8)
            bytes.append(0)
        }
        if !request.followsRedirects { bytes.append(11) }
        if request.servesStaleOnDisconnect { bytes.append(15) }
        if request.verifiesStoredImage { bytes.append(16) }
        if request.expectsPicture, goal != .image { bytes.append(12) }
        if let checksum = request.checksum {
            bytes.append(13)
            bytes.append(contentsOf: checksum.bytes)
        }
        appendLimits(request.limits, to: &bytes)
        return bytes
    }

    /// Appends names in lower case and in alphabetical order; values of one name keep their order.
    private static func append(_ fields: HTTPFields, ignored: Set<String>, to bytes: inout [UInt8]) {
        let sorted = (0..<fields.count).map { (name: fields.name($0).lowercased(), index: $0) }
            .filter { !ignored.contains($0.name) }
            .sorted { ($0.name, $0.index) < ($1.name, $1.index) }
        for (name, index) in sorted {
            bytes.append(contentsOf: name.utf8)
            bytes.append(UInt8(ascii: ":"))
            // Every value is hashed, because a custom field may hold a secret.
            SecretHash.append(fields.rawValue(index), to: &bytes)
            bytes.append(0)
        }
    }

    /// Appends limits other than the defaults. Such loads are other jobs, since one may fail and the other succeed.
    private static func appendLimits(_ limits: ImageRequest.Limits, to bytes: inout [UInt8]) {
        var fetchLimits = limits
        fetchLimits.maximumPixels = ImageRequest.Limits().maximumPixels
        fetchLimits.maximumDecodeBytes = ImageRequest.Limits().maximumDecodeBytes
        guard fetchLimits != ImageRequest.Limits() else { return }
        bytes.append(4)
        let durations = [limits.connectTimeout, limits.stallTimeout, limits.totalTimeout, limits.minimumRatePeriod]
        for number in durations.map({ $0?.saturatedNanoseconds ?? -1 })
            + [limits.maximumBodyBytes, Int64(limits.maximumRedirects), Int64(limits.minimumBytesPerSecond)]
        {
            unsafe withUnsafeBytes(of: number.littleEndian) { unsafe bytes.append(contentsOf: $0) }
        }
    }
}
