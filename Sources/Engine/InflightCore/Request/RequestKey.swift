import InflightConcurrency
import InflightImages

/// What decides whether two requests are equal, and so share a job. The key of each step contains that of the step
/// before:
///
///     FetchKey ──► DecodeKey ──► ProcessKey ──► ProcessKey (one for each processor)
///
/// Two requests with one URL and two sizes share the fetch; two with one size and the processors `[a]` and `[a, b]`
/// share all but `b`. A key and its hash are computed before any lock is taken. Comparing and hashing it under a lock
/// runs no user code. Keys are references, because a million of them may be queued.
class RequestKey: Hashable, @unchecked Sendable {
    // Unchecked: the subclasses are final and immutable.
    final let hash: UInt32
    /// Here, where they take no memory of their own.
    fileprivate final let flags: DecodeKey.Flags
    /// The key of the step before; nil for a fetch.
    final let before: RequestKey?

    fileprivate init(hash: Hasher, flags: DecodeKey.Flags = [], after before: RequestKey?) {
        self.hash = UInt32(truncatingIfNeeded: hash.finalize())
        self.flags = flags
        self.before = before
    }

    static func == (left: RequestKey, right: RequestKey) -> Bool {
        left === right || (left.hash == right.hash && left.isSame(as: right) && left.before == right.before)
    }

    final func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }

    /// Returns whether both are keys of the same step, and agree in what it adds to the step before.
    fileprivate func isSame(as other: RequestKey) -> Bool { false }
}

/// The URL, and everything else that may change the result of a fetch. Secrets in it are a keyed hash.
final class FetchKey: RequestKey, @unchecked Sendable {
    // Unchecked: immutable.
    private let url: String
    private let rest: [UInt8]

    init(url: String, rest: [UInt8]) {
        self.url = url
        self.rest = rest
        var hasher = Hasher()
        hasher.combine(url)
        if !rest.isEmpty { unsafe rest.withUnsafeBytes { unsafe hasher.combine(bytes: $0) } }
        super.init(hash: hasher, after: nil)
    }

    override fileprivate func isSame(as other: RequestKey) -> Bool {
        guard let other = other as? FetchKey else { return false }
        return url == other.url && rest == other.rest
    }
}

/// How the bytes of a fetch are decoded.
final class DecodeKey: RequestKey, @unchecked Sendable {
    // Unchecked: immutable.
    private let pixels: Pixels

    /// What a request can change of `DecodeOptions`. It takes less memory.
    private struct Pixels: Hashable {
        let resize: Resize?
        let order: PixelBuffer.Format.Order
        let premultiplied: Bool
        let page: Int32
    }

    /// The options of a decode besides those for the pixels.
    struct Flags: OptionSet, Hashable {
        let rawValue: UInt8

        static let keepsMetadata = Flags(rawValue: 1)
        static let allowsPartialImage = Flags(rawValue: 2)
        /// The key is that of an encoded image.
        static let encodes = Flags(rawValue: 4)
        static let keepsBody = Flags(rawValue: 8)
    }

    init(after fetch: FetchKey, options: DecodeOptions, flags: Flags = []) {
        pixels = Pixels(
            resize: options.resize, order: options.order, premultiplied: options.premultiplied,
            page: Int32(clamping: options.page))
        var hasher = Hasher()
        fetch.hash(into: &hasher)
        hasher.combine(pixels)
        super.init(hash: hasher, flags: flags, after: fetch)
    }

    override fileprivate func isSame(as other: RequestKey) -> Bool {
        guard let other = other as? DecodeKey else { return false }
        return pixels == other.pixels && flags == other.flags
    }
}

/// The identity of the processor that is applied to the image of a decode or of another processor, or of the file that
/// the image is encoded as.
final class ProcessKey: RequestKey, @unchecked Sendable {
    // Unchecked: immutable.
    private let identity: String

    init(after before: RequestKey, identity: String, flags: DecodeKey.Flags = []) {
        self.identity = identity
        var hasher = Hasher()
        before.hash(into: &hasher)
        hasher.combine(identity)
        super.init(hash: hasher, flags: flags, after: before)
    }

    /// The key of the file as which a request's image is encoded.
    convenience init(after before: RequestKey, encoding request: ImageRequest) {
        let identity = request.imageIdentity(request.processors.count, request.storedRepresentation.processedOptions)
        self.init(after: before, identity: identity, flags: .encodes)
    }

    override fileprivate func isSame(as other: RequestKey) -> Bool {
        guard let other = other as? ProcessKey else { return false }
        return identity == other.identity && flags == other.flags
    }
}

// The contents of the keys of a plan's jobs.

extension FetchKey {
    /// - Parameters:
    ///   - ignored: the names of fields that cannot change the response.
    ///   - varying: the names among the harmless fields by which a response was found to vary.
    ///   - cookies: the cookies of the pipeline that the request sends.
    convenience init(
        _ request: ImageRequest, url: ResourceURL, goal: RequestPlan.Goal, purpose: RequestPlan.Purpose,
        ignored: Set<String>, varying: Set<String>, cookies: [CookieJar.Cookie]
    ) {
        var rest = Self.bytes(request, url: url, goal: goal, ignored: ignored, varying: varying)
        if !cookies.isEmpty, !ignored.contains("cookie") {
            rest.append(19)
            SecretHash.append(CookieJar.fieldValue(cookies), to: &rest)
        }
        // The appended byte separates the keys of different purposes.
        switch purpose {
        case .usual: break
        case .revalidation(let ofImage): rest.append(ofImage ? 7 : 8)
        case .refetch: rest.append(10)
        case .processed(let prefix, let confirmedAt):
            rest.append(15)
            if let confirmedAt {
                rest.append(17)
                unsafe withUnsafeBytes(of: confirmedAt.milliseconds) { unsafe rest.append(contentsOf: $0) }
            }
            rest += Array(request.imageIdentity(prefix, request.storedRepresentation.processedOptions).utf8)
        }
        // No URL contains a space, so a key with an identity never equals a key with a URL.
        self.init(url: request.identity.map { "identity " + $0 } ?? url.string, rest: rest)
    }

    private static func bytes(
        _ request: ImageRequest, url: ResourceURL, goal: RequestPlan.Goal, ignored: Set<String>, varying: Set<String>
    ) -> [UInt8] {
        // Empty for most requests, so that nothing is allocated.
        var bytes: [UInt8] = []
        if !request.hasDefaults, request.method != "GET" {
            bytes.append(5)
            bytes.append(contentsOf: request.method.utf8)
            bytes.append(0)
        }
        switch goal {
        case .image, .encoded, .data: break
        case .response where !request.hasDefaults && !Invalidation.isSafe(request.method):
            // Every request with an unsafe method is sent (RFC 9111 section 4).
            bytes.append(14)
            unsafe withUnsafeBytes(of: exchangeNumbers.next()) { unsafe bytes.append(contentsOf: $0) }
        case .response: bytes.append(1)
        case .info: bytes.append(6)
        }
        // Appended even if the request has none of the fields. Otherwise its key would equal one that ignores them.
        if !varying.isEmpty {
            bytes.append(7)
            for name in varying.sorted() {
                bytes.append(contentsOf: name.utf8)
                bytes.append(0)
            }
        }
        if let userInfo = url.userInfo { SecretHash.append(userInfo.utf8, to: &bytes) }
        if request.hasDefaults { return bytes }
        if !request.fields.isEmpty { request.fields.appendKey(ignoring: ignored, to: &bytes) }
        if !request.originFields.isEmpty {
            bytes.append(2)
            request.originFields.appendKey(ignoring: ignored, to: &bytes)
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
        if request.expectsImage, !goal.makesImage { bytes.append(12) }
        if let decoder = request.decoder {
            bytes.append(18)
            bytes.append(contentsOf: decoder.utf8)
            bytes.append(0)
        }
        if let checksum = request.checksum {
            bytes.append(13)
            bytes.append(contentsOf: checksum.bytes)
        }
        return bytes
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
}

extension DecodeKey.Flags {
    init(_ request: ImageRequest) {
        self = []
        if request.hasDefaults { return }
        if request.keepsMetadata { insert(.keepsMetadata) }
        if request.allowsPartialImage { insert(.allowsPartialImage) }
        if request.keepsBody { insert(.keepsBody) }
    }
}

extension HTTPFields {
    /// Appends names in lower case and in alphabetical order; values of one name keep their order.
    func appendKey(ignoring ignored: Set<String>, to bytes: inout [UInt8]) {
        let sorted = (0..<count).map { (name: name($0).lowercased(), index: $0) }
            .filter { !ignored.contains($0.name) }
            .sorted { ($0.name, $0.index) < ($1.name, $1.index) }
        for (name, index) in sorted {
            bytes.append(contentsOf: name.utf8)
            bytes.append(UInt8(ascii: ":"))
            // Every value is hashed, because a custom field may hold a secret.
            SecretHash.append(rawValue(index), to: &bytes)
            bytes.append(0)
        }
    }
}

extension ImageRequest {
    /// Returns the identities under which the image after the first `count` processors may be stored, the preferred one
    /// first; empty if the request stores no processed images.
    func processedIdentities(_ count: Int) -> [String] {
        guard let options = storedRepresentation.processedOptions else { return [] }
        // With JPEG, an image with transparency was stored as PNG, so look for both.
        let ways = options.format == .jpeg ? [options, options.keepingAlpha] : [options]
        return ways.map { imageIdentity(count, $0) }
    }

    /// Returns the identity of the image after the first `count` processors, which separates it from other images of
    /// the same bytes. It is the same in every process.
    func imageIdentity(_ count: Int, _ options: EncodeOptions?) -> String {
        var parts: [String] = []
        if let decoder { parts.append("decoder \(decoder)") }
        if page != 0 { parts.append("page \(page)") }
        if let resize { parts.append("resize " + resize.identity) }
        parts += processors.prefix(count).map { "process " + $0.identity }
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
            if keepsMetadata { parts.append("with its metadata") }
        }
        // A processor's identity may be any text, so each part is hashed with its length.
        var hash = SHA256()
        for part in parts { hash.append(Array("\(part.utf8.count) \(part)".utf8)) }
        return hash.hex
    }
}

/// An origin with its hash, by which the fetch lane groups. URLs without an origin (files, `data:`) form one group.
///
/// A reference, because every queued job holds one. The latest few are cached, so that URLs of one origin share it.
final class OriginKey: Hashable, Sendable, CustomStringConvertible {
    let origin: Origin?
    private let hash: Int

    static let none = OriginKey(nil)

    init(_ origin: Origin?) {
        self.origin = origin
        var hasher = Hasher()
        hasher.combine(origin)
        hash = hasher.finalize()
    }

    var description: String { origin?.description ?? "local" }

    static func == (left: OriginKey, right: OriginKey) -> Bool {
        left === right || (left.hash == right.hash && left.origin == right.origin)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }

    private static func isSame(_ text: String, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var text = text
        return text.withUTF8 { unsafe $0.elementsEqual(bytes) }
    }

    /// The latest origins of plain URLs, indexed by a hash of the host's bytes and the port.
    private static let latest = Guarded([OriginKey?](repeating: nil, count: 64))

    /// Returns the key of `http` or `https`, a host in lower case, and a port.
    static func shared(isSecure: Bool, host: UnsafeBufferPointer<UInt8>, port: Int) -> OriginKey {
        var place = port
        for index in host.indices { place = (place &* 31 &+ Int(unsafe host[index])) & 0xFFFF }
        place &= 63
        let scheme = isSecure ? "https" : "http"
        let found = latest.withLock { $0[place] }
        if let found, let origin = found.origin, origin.port == port, origin.scheme == scheme,
            unsafe isSame(origin.host, host)
        {
            return found
        }
        let text = unsafe String(decoding: host, as: UTF8.self)
        let key = OriginKey(Origin(scheme: scheme, host: text, port: port))
        let replaced = latest.withLock { keys in
            let old = keys[place]
            keys[place] = key
            return old
        }
        withExtendedLifetime(replaced) {}
        return key
    }
}

/// A keyed hash of 128 bits for values that keys must not contain as they are: passwords, cookies, tokens, bodies.
///
/// Two runs of the standard library's SipHash, each with its own secret, which is drawn once per process.
/// Without the secrets it is not possible to find two values with one hash, nor to test guesses.
struct SecretHash {
    private static let secrets: (UInt64, UInt64, UInt64, UInt64) = {
        var generator = SystemRandomNumberGenerator()
        return (generator.next(), generator.next(), generator.next(), generator.next())
    }()

    static func append(_ value: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        let value = Array(value)
        append(half(value, secrets.0, secrets.1), to: &bytes)
        append(half(value, secrets.2, secrets.3), to: &bytes)
    }

    private static func half(_ value: [UInt8], _ first: UInt64, _ second: UInt64) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(first)
        hasher.combine(second)
        unsafe value.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    private static func append(_ word: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
    }
}
