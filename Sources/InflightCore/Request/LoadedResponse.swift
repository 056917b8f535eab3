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

/// A decoded picture, and where it came from.
public struct LoadedImage: Sendable {
    public var pixels: PixelBuffer
    /// What the header of the source said; sizes and orientation are those before any change.
    public var info: ImageInfo
    /// The answer that the picture was decoded from, without its body: pixels are kept, bytes are not.
    public var head: ResponseHead
    /// The URL that answered, after redirects.
    public var url: String
    /// Bytes of the body, content coding undone.
    public var bodyBytes: Int64
    /// Bytes of the body on the wire.
    public var wireBytes: Int64
    public var source: LoadSource
    /// What the file says beside its pixels, where ``ImageRequest/keepsMetadata`` asks for it: as it stands there, so that
    /// its orientation is that of the file and not of the pixels.
    public var metadata: ImageMetadata?
    /// Whether it is stale: made from a stored response past its freshness lifetime (see ``LoadedResponse/isStale``), or
    /// served from memory after that (see ``ImagePipeline/cached(_:)`` and ``ImageRequest/allowsStaleFromMemory``).
    public var isStale = false
    /// Whether only a part of the picture could be decoded, the rest being transparent or coarse: see
    /// ``ImageRequest/acceptsIncomplete``.
    public var isIncomplete = false
    /// See ``LoadedResponse/storable``.
    var storable: StorableAnswer?
    /// See ``LoadedResponse/lifetime``.
    var lifetime: ImageLifetime?

    public init(
        pixels: PixelBuffer, info: ImageInfo, head: ResponseHead, url: String, bodyBytes: Int64, wireBytes: Int64,
        source: LoadSource
    ) {
        self.pixels = pixels
        self.info = info
        self.head = head
        self.url = url
        self.bodyBytes = bodyBytes
        self.wireBytes = wireBytes
        self.source = source
    }

    public var width: Int { pixels.width }
    public var height: Int { pixels.height }
}

/// Where a result came from: an open set.
public struct LoadSource: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public var description: String { rawValue }

    /// A request of this task's own went out.
    public static let network = LoadSource(rawValue: "network")
    /// Another task's request was under way for the same thing.
    public static let shared = LoadSource(rawValue: "shared")
    /// The memory cache.
    public static let memory = LoadSource(rawValue: "memory")
    /// What was stored of an earlier answer.
    public static let disk = LoadSource(rawValue: "disk")
    /// What was stored of an earlier answer, after its origin said that it still holds.
    public static let revalidated = LoadSource(rawValue: "revalidated")
    /// A local file.
    public static let file = LoadSource(rawValue: "file")
    /// A source of the program's own.
    public static let source = LoadSource(rawValue: "source")
    /// A `data:` URL.
    public static let data = LoadSource(rawValue: "data")
}

/// How far a fetch has come.
public struct LoadProgress: Sendable, Hashable {
    /// Bytes of the body so far, content coding undone.
    public var receivedBytes: Int64
    /// The length of the body that the server announced, on the wire; `nil` where it did not.
    public var expectedBytes: Int64?

    public init(receivedBytes: Int64, expectedBytes: Int64?) {
        self.receivedBytes = receivedBytes
        self.expectedBytes = expectedBytes
    }

    /// From 0 to 1, or `nil` where the length is not known.
    public var fraction: Double? {
        guard let expectedBytes, expectedBytes > 0 else { return nil }
        return min(1, Double(receivedBytes) / Double(expectedBytes))
    }
}
