internal import CInflightCurl
internal import Glibc
internal import InflightConcurrency
internal import InflightCore

/// A libcurl easy handle, reused for one exchange after another. Constant options are set once, all others only if they
/// differ from their previous value.
// Confined to the event loop's thread. Safe: the pointers do not escape this object.
@safe final class EasyHandle {
    let easy: UnsafeMutableRawPointer
    // The loop releases its handles before its own end.
    unowned(unsafe) let loop: EventLoop
    var exchange: Exchange?
    /// Whether libcurl has tried to resend a request. The handle is then not pooled, because libcurl counts resends
    /// over a handle's lifetime, up to five.
    var isWorn = false

    private let errorText: UnsafeMutablePointer<CChar>
    let head: UnsafeMutablePointer<inflight_head>
    private var applied = Applied()
    private var fieldList = StringList()
    private var resolveList = StringList()

    /// The current values of the options that can differ between exchanges.
    private struct Applied {
        var method = "GET"
        var bodyBytes: Int?
        var fields: HTTPFields?
        var urgency: Int?
        var decodes = true
        var connectTimeout: Int?
        var proxy = ""
        var certificate: CurlTransport.ClientCertificate?
        var pinnedKeys: String?
        var weight = ImageRequest.Priority.normal
        var watchesProgress = false
        var hasResolveList = false
        var needsNewConnection = false
        var usesHTTP1 = false
        var awaitsMultiplexing = false
    }

    init?(loop: EventLoop, share: UnsafeMutableRawPointer?) {
        guard let easy = unsafe inflight_easy_make() else { return nil }
        unsafe self.easy = easy
        unsafe self.loop = loop
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        unsafe head = .allocate(capacity: 1)
        unsafe head.initialize(
            to: inflight_head(
                text: nil, length: 0, capacity: 0, limit: 0, lines: 0, is_complete: false, is_too_long: false,
                ended: { unsafe EasyHandle.headEnded($0) }, context: nil))
        unsafe setConstants(share: share)
    }

    deinit {
        unsafe inflight_easy_free(easy)
        unsafe errorText.deallocate()
        unsafe free(head.pointee.text)
        unsafe head.deallocate()
    }

    /// libcurl's description of the failure, if there is one.
    var errorMessage: String { Message.cleaned(unsafe String(cString: errorText)) }

    /// Whether libcurl has described a failure of this exchange as that of an origin that requires HTTP/1.1 (RFC 9113
    /// section 7). A later description replaces only the beginning of an earlier one, as far as it reaches.
    var requiresHTTP1: Bool {
        let text = unsafe Array(UnsafeRawBufferPointer(start: errorText, count: Int(CURL_ERROR_SIZE)))
        return text.indices.contains { text[$0...].starts(with: "HTTP_1_1_REQUIRED".utf8) }
    }

    /// Whether the origin has reset the stream because of the client's behaviour (RFC 9113 section 7).
    var isToldToCalmDown: Bool { errorMessage.contains("ENHANCE_YOUR_CALM") }

    /// Whether the current exchange is restricted to HTTP/1.1.
    var usesHTTP1: Bool { applied.usesHTTP1 }

    /// The trailer fields, once the transfer has finished.
    var trailers: HTTPFields {
        guard unsafe head.pointee.is_complete, unsafe head.pointee.length > 0 else { return HTTPFields() }
        let text = unsafe UnsafeRawBufferPointer(start: head.pointee.text, count: head.pointee.length)
        return unsafe HeadParser.trailers(text.assumingMemoryBound(to: UInt8.self))
    }

    var headLines: Int { unsafe head.pointee.lines }

    var wireBytes: Int64 { unsafe Int64(inflight_easy_downloaded(easy)) }

    /// Returns the times at which the transfer reached each step.
    ///
    /// - Parameter offset: The nanoseconds before the handover to libcurl, spent on name resolution.
    func timings(addedAfter offset: Int64, isReused: Bool) -> TransportTimings {
        func time(_ point: CURLINFO) -> Duration? {
            let microseconds = unsafe inflight_easy_time(easy, point)
            return microseconds > 0 ? .nanoseconds(offset + microseconds * 1000) : nil
        }
        let ready = time(CURLINFO_PRETRANSFER_TIME_T)
        return TransportTimings(
            nameResolved: .nanoseconds(offset), connected: isReused ? ready : time(CURLINFO_CONNECT_TIME_T),
            secured: isReused ? nil : time(CURLINFO_APPCONNECT_TIME_T),
            firstByte: time(CURLINFO_STARTTRANSFER_TIME_T), reusedConnection: isReused)
    }

    func set(_ option: CURLoption, _ value: Int) {
        unsafe inflight_easy_set_long(easy, option, value)
    }

    func set(_ option: CURLoption, _ value: String?) {
        if let value {
            unsafe inflight_easy_set_string(easy, option, value)
        } else {
            unsafe inflight_easy_set_string(easy, option, nil)
        }
    }

    private func setConstants(share: UnsafeMutableRawPointer?) {
        let settings = unsafe loop.settings
        unsafe inflight_easy_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        unsafe inflight_easy_set_pointer(easy, CURLOPT_SHARE, share)
        setCallbacks()
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_ACCEPT_ENCODING, "")
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NOPROXY, "")
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let file = settings.caFile {
            set(CURLOPT_CAINFO, file)
            // A named file replaces the system's certificates.
            set(CURLOPT_CAPATH, nil)
        }
        // The loop enforces timeouts. libcurl's connect timeout only makes it move on from one address to the next.
        set(CURLOPT_TIMEOUT_MS, 0)
    }

    /// Prepares the handle for `exchange`.
    /// - Returns: The reason why the request cannot be sent, or nil.
    func prepare(for exchange: Exchange, url: String, proxy: String) -> LoadError? {
        unsafe errorText.update(repeating: 0, count: Int(CURL_ERROR_SIZE))
        unsafe head.pointee.length = 0
        unsafe head.pointee.lines = 0
        unsafe head.pointee.is_complete = false
        unsafe head.pointee.is_too_long = false
        unsafe head.pointee.limit = max(0, exchange.request.limits.maximumHeadBytes)
        let request = exchange.request
        let usesHTTP1 = exchange.site?.requiresHTTP1 ?? false
        // Without TLS there is no HTTP/2, and no server that would use the field.
        let urgency = request.url.scheme == "https" && !usesHTTP1 ? Self.urgency(exchange.priority) : nil
        if applied.fields != request.fields || (applied.bodyBytes == nil) != (request.body == nil)
            || applied.urgency != urgency
        {
            applied.urgency = urgency
            if let problem = applyFields(request.fields, hasBody: request.body != nil) {
                return exchange.failure(.invalidRequest, problem)
            }
        }
        if applied.method != request.method || applied.bodyBytes != request.body?.count {
            if let problem = applyMethod(request) { return exchange.failure(.invalidRequest, problem) }
        }
        let timeout = Self.milliseconds(exchange.timeouts.connect)
        if applied.connectTimeout != timeout {
            applied.connectTimeout = timeout
            set(CURLOPT_CONNECTTIMEOUT_MS, timeout)
        }
        if applied.proxy != proxy {
            applied.proxy = proxy
            set(CURLOPT_PROXY, proxy)
        }
        if let site = exchange.site { applyIdentity(of: site) }
        setPriority(exchange.priority, flushes: false)
        watchProgress(false)
        // Without TLS there is no HTTP/2 to wait for. libcurl would still wait for the first response on the first
        // connection, so that a slow one would block all other exchanges with its origin.
        let awaitsMultiplexing = request.url.scheme == "https"
        if applied.awaitsMultiplexing != awaitsMultiplexing {
            applied.awaitsMultiplexing = awaitsMultiplexing
            set(CURLOPT_PIPEWAIT, awaitsMultiplexing ? 1 : 0)
        }
        if applied.usesHTTP1 != usesHTTP1 {
            applied.usesHTTP1 = usesHTTP1
            set(CURLOPT_HTTP_VERSION, Int(usesHTTP1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS))
        }
        set(CURLOPT_URL, url)
        self.exchange = exchange
        exchange.easy = self
        return nil
    }

    private func applyIdentity(of site: Site) {
        if applied.certificate != site.clientCertificate {
            applied.certificate = site.clientCertificate
            set(CURLOPT_SSLCERT, site.clientCertificate?.file)
            set(CURLOPT_SSLKEY, site.clientCertificate?.keyFile)
            set(CURLOPT_KEYPASSWD, site.clientCertificate?.password)
        }
        if applied.pinnedKeys != site.pinnedKeys {
            applied.pinnedKeys = site.pinnedKeys
            set(CURLOPT_PINNEDPUBLICKEY, site.pinnedKeys)
        }
    }

    /// Passes addresses in the form of `CURLOPT_RESOLVE`. libcurl keeps them for all handles.
    func install(_ entries: [String]) {
        guard !entries.isEmpty || applied.hasResolveList else { return }
        applied.hasResolveList = !entries.isEmpty
        unsafe resolveList.replace(by: entries.map { Array($0.utf8) }) {
            unsafe inflight_easy_set_list(easy, CURLOPT_RESOLVE, $0)
        }
    }

    /// Sets whether the exchange needs a connection of its own.
    func setNeedsNewConnection(_ connects: Bool) {
        guard applied.needsNewConnection != connects else { return }
        applied.needsNewConnection = connects
        set(CURLOPT_FRESH_CONNECT, connects ? 1 : 0)
    }

    /// Sets whether libcurl reports the bytes received on the wire, which costs a call per step of a transfer.
    func watchProgress(_ watches: Bool) {
        guard applied.watchesProgress != watches else { return }
        applied.watchesProgress = watches
        set(CURLOPT_NOPROGRESS, watches ? 0 : 1)
    }

    private static func milliseconds(_ nanoseconds: Int64) -> Int {
        // Zero would select libcurl's own limit.
        Int(min(max(1, nanoseconds / 1_000_000), Int64(Int32.max)))
    }

    /// Sets the weight of the stream.
    ///
    /// - Parameter flushes: Whether libcurl sends a changed weight at once, in a PRIORITY frame. By itself it compares
    ///   weights only when more of the response arrives, which may take long for a starved stream. Pausing and resuming
    ///   the sending side makes libcurl write to the connection and changes nothing else: a request without a body has
    ///   nothing to send, and one with a body continues when resumed.
    func setPriority(_ priority: ImageRequest.Priority, flushes: Bool) {
        guard applied.weight != priority else { return }
        applied.weight = priority
        set(CURLOPT_STREAM_WEIGHT, Self.weight(priority))
        guard flushes else { return }
        unsafe inflight_easy_pause(easy, CURLPAUSE_SEND)
        unsafe inflight_easy_pause(easy, CURLPAUSE_CONT)
    }

    /// Returns the urgency of RFC 9218 section 4.1. The default of 3 is omitted; 6 and 7 are for less than images.
    private static func urgency(_ priority: ImageRequest.Priority) -> Int? {
        priority == .normal ? nil : 5 - Int(priority.rawValue)
    }

    /// Returns the weight of RFC 7540 section 5.3.2. The default is 16.
    private static func weight(_ priority: ImageRequest.Priority) -> Int {
        switch priority {
        case .veryLow: 1
        case .low: 8
        case .normal: 16
        case .high: 64
        case .veryHigh: 256
        }
    }

    // MARK: Method and fields

    private func applyMethod(_ request: TransportRequest) -> String? {
        if let problem = RequestRules.problem(withMethod: request.method) { return problem }
        if request.method == "HEAD", request.body != nil {
            return "A HEAD request cannot have a body. Remove the body."
        }
        applied.method = request.method
        applied.bodyBytes = request.body?.count
        // Each of these options sets the method that it is named after, which the last call corrects.
        set(CURLOPT_NOBODY, 0)
        if let body = request.body {
            set(CURLOPT_POST, 1)
            unsafe inflight_easy_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
        } else {
            set(CURLOPT_HTTPGET, 1)
        }
        if request.method == "HEAD" { set(CURLOPT_NOBODY, 1) }
        set(
            CURLOPT_CUSTOMREQUEST,
            ["GET", "HEAD"].contains(request.method) && request.body == nil ? nil : request.method)
        return nil
    }

    /// The codings that libcurl decodes, formatted as in its own `Accept-Encoding`; nil if it decodes none.
    private static let codings: String? = {
        guard let info = unsafe inflight_version() else { return nil }
        let features = unsafe info.pointee.features
        var codings: [String] = []
        if features & CURL_VERSION_LIBZ != 0 { codings += ["deflate", "gzip"] }
        if features & CURL_VERSION_BROTLI != 0 { codings.append("br") }
        if features & CURL_VERSION_ZSTD != 0 { codings.append("zstd") }
        return codings.isEmpty ? nil : codings.joined(separator: ", ")
    }()

    private func applyFields(_ fields: HTTPFields, hasBody: Bool) -> String? {
        applied.fields = nil
        var lines: [[UInt8]] = []
        var decodes = true
        var hasUserAgent = false
        var urgency = applied.urgency
        for index in 0..<fields.count {
            if let problem = RequestRules.problem(withField: index, of: fields) { return problem }
            let value = fields.rawValue(index)
            let lowerCase = fields.name(index).lowercased()
            if RequestRules.framing.contains(lowerCase) { continue }
            if lowerCase == "accept-encoding" { decodes = false }
            if lowerCase == "user-agent" { hasUserAgent = true }
            if lowerCase == "priority" { urgency = nil }
            // libcurl's syntax for a field without a value.
            lines.append(fields.rawName(index) + (value.isEmpty ? Array(";".utf8) : Array(": ".utf8) + value))
        }
        // libcurl would format fields of its own again for each request, so they are part of the list.
        if decodes, let codings = Self.codings { lines.append(Array("Accept-Encoding: \(codings)".utf8)) }
        if let urgency { lines.append(Array("Priority: u=\(urgency)".utf8)) }
        let userAgent = unsafe loop.settings.userAgent
        if !hasUserAgent, !userAgent.isEmpty { lines.append(Array("User-Agent: \(userAgent)".utf8)) }
        if hasBody {
            // Suppress the fields that libcurl would add by itself.
            if !fields.contains("Content-Type") { lines.append(Array("Content-Type:".utf8)) }
            lines.append(Array("Expect:".utf8))
        }
        unsafe fieldList.replace(by: lines) { unsafe inflight_easy_set_list(easy, CURLOPT_HTTPHEADER, $0) }
        if applied.decodes != decodes {
            applied.decodes = decodes
            set(CURLOPT_ACCEPT_ENCODING, decodes ? "" : nil)
        }
        applied.fields = fields
        return nil
    }
}

/// A libcurl list of strings, which must live as long as a handle uses it.
// Safe: the pointer is passed to libcurl alone.
@safe struct StringList: ~Copyable {
    private var list: UnsafeMutablePointer<curl_slist>?

    init() {
        unsafe list = nil
    }

    deinit {
        unsafe inflight_list_free(list)
    }

    /// - Parameter strings: Strings without zero bytes.
    mutating func replace(by strings: [[UInt8]], _ install: (UnsafeMutablePointer<curl_slist>?) -> Void) {
        var next: UnsafeMutablePointer<curl_slist>?
        for string in strings {
            let copy = (string + [0]).map { CChar(bitPattern: $0) }
            guard let longer = unsafe inflight_list_append(next, copy) else { break }
            unsafe next = longer
        }
        unsafe install(next)
        unsafe inflight_list_free(list)
        unsafe list = next
    }
}
