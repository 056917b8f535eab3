/// The result of a fetch: any HTTP response, a file, or the bytes of a `data:` URL.
public struct LoadedResponse: Sendable {
    /// The status, version and header fields. A file and a `data:` URL have status 200.
    public var head: ResponseHead
    /// The body, after its content coding is decoded.
    public var body: Bytes
    /// The URL of the response, after redirects, without credentials and fragment.
    public var url: String
    /// The number of bytes of the body on the wire, before its content coding was decoded; 0 if it was stored.
    public var wireBytes: Int64
    /// The source of the result: the network, the store, a file, or the program itself.
    public var source: LoadSource
    // An `Int32` beside `isStale`, so that a result still fits a size that is allocated without a lock.
    private var followedRedirects: Int32
    /// Whether this is a stored response past its freshness lifetime that HTTP allows to be used, because its successor
    /// is being requested or its server failed.
    public var isStale = false
    // Boxed, because few responses have any, so that a result still fits that size.
    private var extras: Extras?

    /// Creates a response, for example in a test.
    ///
    /// - Parameters:
    ///   - head: the status, version and header fields.
    ///   - body: the body, after its content coding is decoded.
    ///   - url: the URL of the response, after redirects, without credentials and fragment.
    ///   - wireBytes: the number of bytes of the body on the wire.
    ///   - source: the source of the result.
    ///   - redirectCount: the number of redirects that were followed.
    public init(
        head: ResponseHead, body: Bytes, url: String, wireBytes: Int64, source: LoadSource, redirectCount: Int = 0
    ) {
        self.head = head
        self.body = body
        self.url = url
        self.wireBytes = wireBytes
        self.source = source
        followedRedirects = Int32(clamping: redirectCount)
    }

    /// The number of redirects that were followed.
    public var redirectCount: Int { Int(followedRedirects) }
}

extension LoadedResponse {
    /// The interim responses (1xx) before this one, in order, such as `103 Early Hints` (RFC 8297). They are never
    /// stored.
    public var interimHeads: [ResponseHead] {
        get { extras?.values.interimHeads ?? [] }
        set { updateExtras { $0.interimHeads = newValue } }
    }

    /// The trailer fields after the body, as received (RFC 9110 section 6.5). They are not part of ``head`` and are not
    /// stored (RFC 9111 section 3.1), so a response from a store has none.
    public var trailers: HTTPFields {
        get { extras?.values.trailers ?? HTTPFields() }
        set { updateExtras { $0.trailers = newValue } }
    }

    /// How a processed image of this response may be stored; nil if no caller wants that, or HTTP forbids it.
    var storable: StorableResponse? {
        get { extras?.values.storable }
        set { updateExtras { $0.storable = newValue } }
    }

    /// How long images of this response may be served from memory; nil if HTTP sets no limit.
    var lifetime: ImageLifetime? {
        get { extras?.values.lifetime }
        set { updateExtras { $0.lifetime = newValue } }
    }

    /// The store entry that holds the body, or will; nil if there is none.
    var entry: StoredEntryReference? {
        get { extras?.values.entry }
        set { updateExtras { $0.entry = newValue } }
    }

    /// The file with the body of a download, which is then not in memory.
    var file: BodyFile? {
        get { extras?.values.file }
        set { updateExtras { $0.file = newValue } }
    }

    /// The number of bytes of the body, wherever it is.
    var byteCount: Int { file?.count ?? body.count }

    /// Whether its pixels were decoded before it was served: see ``ImageRequest/verifiesStoredImage``.
    package var isVerified: Bool {
        get { extras?.values.isVerified ?? false }
        set { updateExtras { $0.isVerified = newValue } }
    }

    /// Whether something other than the end of the connection ended the body, so that it cannot be truncated without an
    /// error (RFC 9112 section 6.3). Bodies that may be truncated are not stored.
    package var isDelimited: Bool {
        source == .disk || source == .revalidated || head.delimitsBody
    }

    private mutating func updateExtras(_ change: (inout Extras.Values) -> Void) {
        var values = extras?.values ?? Extras.Values()
        change(&values)
        extras = Extras(values)
    }

    fileprivate final class Extras: Sendable {
        struct Values: Sendable {
            var interimHeads: [ResponseHead] = []
            var trailers = HTTPFields()
            var storable: StorableResponse?
            var lifetime: ImageLifetime?
            var entry: StoredEntryReference?
            var file: BodyFile?
            var isVerified = false
        }

        let values: Values

        init(_ values: Values) {
            self.values = values
        }
    }
}
