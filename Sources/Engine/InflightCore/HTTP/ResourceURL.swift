/// An absolute URL, parsed once, reduced to the parts that the engine needs (RFC 3986).
///
/// Bytes that are invalid in a URL (spaces, non-ASCII letters) are percent-encoded as UTF-8, as in browsers. Control
/// characters are rejected, at the ends too; except that line breaks and tabs are removed from `data:` URLs, because
/// base64 is often written in lines. The fragment is dropped, because it is never sent.
public struct ResourceURL: Hashable, Sendable, CustomStringConvertible {
    /// Scheme, authority, path and query, without fragment, user name and password.
    public let string: String
    let originKey: OriginKey
    private let credentials: Credentials
    /// The start and end of the path in the UTF-8 of `string`.
    private let pathStart: UInt32
    private let pathEnd: UInt32

    /// Parses an absolute URL.
    ///
    /// - Throws: ``LoadError/Code/invalidURL`` if the text is relative, malformed or ambiguous, contains a control
    ///   character, or lacks a host that its scheme requires.
    public init(_ text: String) throws(LoadError) {
        try self.init(parsing: text)
    }

    /// `user:password`, percent-decoded. Indirect, because most of a million queued URLs have none.
    private indirect enum Credentials: Hashable {
        case none
        case userInfo(String)

        init(_ userInfo: String?) { self = userInfo.map { .userInfo($0) } ?? .none }
    }

    public var description: String { string }

    /// The scheme in lower case.
    public var scheme: String { originKey.origin?.scheme ?? String(string.prefix { $0 != ":" }) }

    /// `user:password`, percent-decoded, if the URL has it.
    public var userInfo: String? { if case .userInfo(let text) = credentials { text } else { nil } }

    /// The scheme, host and port; `nil` if the URL has no host, as in `data:` and `file:///`.
    public var origin: Origin? { originKey.origin }

    /// The path, still percent-encoded. For a URL without a host, such as `data:`, everything after the colon.
    public var path: Substring {
        let utf8 = string.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: Int(pathStart))
        let end = utf8.index(utf8.startIndex, offsetBy: Int(pathEnd))
        return string[start..<end]
    }

    /// Returns the target of `reference`, resolved against this URL (RFC 3986 section 5.2).
    ///
    /// - Parameter reference: a relative reference or an absolute URL.
    /// - Throws: ``LoadError/Code/invalidURL`` if the target is not a valid URL, or if this URL has no authority, so
    ///   that nothing relative can be resolved against it.
    public func resolving(_ reference: String) throws(LoadError) -> ResourceURL {
        let parts = URLParts(reference)
        if parts.scheme != nil { return try ResourceURL(reference) }
        guard let authorityEnd = authorityEnd else {
            throw Self.invalid(reference, "a relative reference has no base")
        }
        let utf8 = Array(string.utf8)
        if reference.utf8.starts(with: "//".utf8) {
            return try ResourceURL(scheme + ":" + reference)
        }
        let prefix = String(decoding: utf8[..<authorityEnd], as: UTF8.self)
        let own = String(decoding: utf8[Int(pathStart)..<Int(pathEnd)], as: UTF8.self)
        let query = String(decoding: utf8[Int(pathEnd)...], as: UTF8.self)
        let path = String(parts.path)
        let suffix = parts.query.map { "?" + $0 } ?? ""
        if path.isEmpty {
            return try ResourceURL(prefix + own + (parts.query == nil ? query : suffix))
        }
        if path.utf8.first == UInt8(ascii: "/") { return try ResourceURL(prefix + path + suffix) }
        let directory = own.utf8.lastIndex(of: UInt8(ascii: "/")).map { own[...$0] } ?? "/"
        return try ResourceURL(prefix + directory + path + suffix)
    }

    /// The end of the authority in the UTF-8 of `string`, if the URL has one, `file:///` included.
    private var authorityEnd: Int? {
        Int(pathStart) == scheme.utf8.count + 1 ? nil : Int(pathStart)
    }

    private static func invalid(_ text: String, _ why: String) -> LoadError {
        LoadError(
            .invalidURL, stage: .request, url: URLParts.shown(text),
            message: "Invalid URL: \(why). Use an absolute URL, such as https://host/path.")
    }

    /// The scheme of image sources' keys. The parser rejects it.
    private static let sourceScheme = "source"

    /// Returns whether the text after a colon belongs to a URL with this scheme. Otherwise it is the port, or a
    /// password, of a URL without a scheme.
    private static func isOpaque(_ scheme: String, _ rest: Substring) -> Bool {
        if ["mailto", "javascript", "tel", "about", "blob"].contains(scheme) { return true }
        if scheme == "file" || rest.utf8.contains(UInt8(ascii: "@")) { return false }
        let behindPort = rest.drop { $0.isASCII && $0.isNumber }
        return behindPort.startIndex == rest.startIndex || !(behindPort.isEmpty || "/?#".contains(behindPort.first!))
    }

    private static func isLineBreakOrTab(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D || byte == 0x09 }

    private init(parsing text: String) throws(LoadError) {
        guard text.utf8.count <= Int(UInt32.max) else { throw Self.invalid("", "it is longer than 4 GiB") }
        if let plain = PlainURL(text) {
            self.init(plain, text: text)
            return
        }
        var text = text
        if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            if text.utf8.prefix(5).map(\.asciiLowercased).elementsEqual("data:".utf8) {
                text = String(decoding: text.utf8.filter { !Self.isLineBreakOrTab($0) }, as: UTF8.self)
            }
            guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                throw Self.invalid(text, "it contains a control character")
            }
        }
        let parts = URLParts(text)
        guard let rawScheme = parts.scheme else { throw Self.invalid(text, "it has no scheme") }
        let scheme = rawScheme.lowercased()
        guard scheme != Self.sourceScheme else {
            throw Self.invalid(text, "the scheme \(scheme) is reserved for image sources")
        }

        let isHTTP = scheme == "http" || scheme == "https"
        let start = text.utf8.index(text.startIndex, offsetBy: rawScheme.utf8.count + 1)
        if scheme == "data" || (!isHTTP && parts.authority == nil && Self.isOpaque(scheme, text[start...])) {
            let end = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
            self.init(scheme: scheme, opaque: text[start..<end])
            return
        }

        guard let authority = parts.authority else {
            if scheme == "file", parts.path.utf8.first == UInt8(ascii: "/") {
                self.init(scheme: scheme, authority: "", origin: nil, userInfo: nil, parts: parts)
                return
            }
            throw Self.invalid(text, "it has no host")
        }
        if authority.isEmpty, !isHTTP {
            self.init(scheme: scheme, authority: "", origin: nil, userInfo: nil, parts: parts)
            return
        }
        // Parsers disagree whether a backslash is a slash or part of the host, so the host would be ambiguous.
        guard parts.path.utf8.first != UInt8(ascii: "\\") else {
            throw Self.invalid(text, "its host is followed by a backslash")
        }
        var hostPort = authority
        var info: String?
        if let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
            info = PercentEncoding.decoded(authority[..<at])
            hostPort = authority[authority.utf8.index(after: at)...]
        }
        if scheme == "file" {
            guard hostPort.isEmpty || hostPort.lowercased() == "localhost" else {
                throw Self.invalid(text, "a file: URL cannot name another host")
            }
            self.init(scheme: scheme, authority: "", origin: nil, userInfo: nil, parts: parts)
            return
        }

        guard let (host, port) = URLParts.hostAndPort(hostPort, defaultPort: URLParts.defaultPort(scheme)) else {
            throw Self.invalid(text, "its host or port is malformed")
        }
        let origin = Origin(scheme: scheme, host: host, port: port)
        var shown = host.contains(":") ? "[\(host)]" : host
        if port != URLParts.defaultPort(scheme) ?? 0 { shown += ":\(port)" }
        self.init(scheme: scheme, authority: shown, origin: origin, userInfo: info, parts: parts)
    }

    /// Creates a URL whose text is already in the form that this type would write. The text is used as it is.
    private init(_ plain: PlainURL, text: String) {
        string = text
        originKey = plain.origin
        credentials = .none
        pathStart = UInt32(plain.pathStart)
        pathEnd = UInt32(plain.pathEnd)
    }

    /// Creates a URL without a host, such as `data:` or `mailto:`. The bytes after the colon are not changed.
    private init(scheme: String, opaque: Substring) {
        string = scheme + ":" + opaque
        originKey = .none
        credentials = .none
        pathStart = UInt32(scheme.utf8.count + 1)
        pathEnd = UInt32(string.utf8.count)
    }

    /// Creates the URL that represents a source in keys and errors. No valid URL text parses to it.
    init(source identity: String) {
        let encoded = PercentEncoding.encoded(identity, keeping: PercentEncoding.pathBytes)
        self.init(scheme: Self.sourceScheme, opaque: encoded[...])
    }

    private init(scheme: String, authority: String, origin: Origin?, userInfo: String?, parts: URLParts) {
        var text = scheme + "://" + authority
        let start = text.utf8.count
        let path = PercentEncoding.encoded(parts.path, keeping: PercentEncoding.pathBytes)
        text += path.isEmpty ? "/" : URLParts.removingDotSegments(path)
        let end = text.utf8.count
        if let query = parts.query { text += "?" + PercentEncoding.encoded(query, keeping: PercentEncoding.queryBytes) }
        self.string = text
        originKey = origin.map { OriginKey($0) } ?? .none
        credentials = Credentials(userInfo)
        pathStart = UInt32(start)
        pathEnd = UInt32(end)
    }
}
