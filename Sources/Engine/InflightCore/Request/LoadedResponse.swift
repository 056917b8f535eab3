/// What a fetch gave: any HTTP answer, a file, or the bytes of a `data:` URL.
public struct LoadedResponse: Sendable {
    public var head: ResponseHead
    /// The body, content coding undone.
    public var body: Bytes
    /// The URL that answered, after redirects, without credentials and fragment.
    public var url: String
    /// Bytes of the body on the wire, before its content coding was undone.
    public var wireBytes: Int64
    public var source: LoadSource
    // Small beside `isStale`, so that a result stays within what is allocated without a lock.
    private var followedRedirects: Int32
    /// Whether it is a stored answer past its time, which HTTP's rules let be used: what follows it is asked for, or its
    /// server failed.
    public var isStale = false
    // Boxed, since few answers have any: see above.
    private var surroundings: Surroundings?

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

    /// How many redirects were followed.
    public var redirectCount: Int { Int(followedRedirects) }
}

extension LoadedResponse {
    /// The interim answers (1xx) that came before it, in order, as `103 Early Hints` does (RFC 8297). None of them is
    /// stored.
    public var interimHeads: [ResponseHead] {
        get { surroundings?.values.interimHeads ?? [] }
        set { surround { $0.interimHeads = newValue } }
    }

    /// The trailer fields that came behind the body, as they came (RFC 9110 section 6.5). They are no part of ``head``, and
    /// are not stored (RFC 9111 section 3.1): what is served from a store has none.
    public var trailers: HTTPFields {
        get { surroundings?.values.trailers ?? HTTPFields() }
        set { surround { $0.trailers = newValue } }
    }

    /// What may be kept of a picture that is made of it; `nil` where nobody wants that, or HTTP forbids it.
    var storable: StorableAnswer? {
        get { surroundings?.values.storable }
        set { surround { $0.storable = newValue } }
    }

    /// How long images made of it may be served from memory; `nil` where HTTP has no say.
    var lifetime: ImageLifetime? {
        get { surroundings?.values.lifetime }
        set { surround { $0.lifetime = newValue } }
    }

    /// What holds the body in a store, or will; `nil` where nothing does.
    var entry: StoredEntryReference? {
        get { surroundings?.values.entry }
        set { surround { $0.entry = newValue } }
    }

    /// Whether its pixels were decoded before it was served: see ``ImageRequest/verifiesStoredImage``.
    package var isVerified: Bool {
        get { surroundings?.values.isVerified ?? false }
        set { surround { $0.isVerified = newValue } }
    }

    private mutating func surround(_ change: (inout Surroundings.Values) -> Void) {
        var values = surroundings?.values ?? Surroundings.Values()
        change(&values)
        surroundings = Surroundings(values)
    }

    fileprivate final class Surroundings: Sendable {
        struct Values: Sendable {
            var interimHeads: [ResponseHead] = []
            var trailers = HTTPFields()
            var storable: StorableAnswer?
            var lifetime: ImageLifetime?
            var entry: StoredEntryReference?
            var isVerified = false
        }

        let values: Values

        init(_ values: Values) {
            self.values = values
        }
    }
}
