public import InflightCore

/// A request in the contract's terms: all properties that make two jobs the same, and its limits.
public struct RequestSpec: Sendable, Hashable {
    public enum Kind: UInt8, Sendable {
        case image, bytes
        /// Any response, whatever its status. Never coalesced with the two above.
        case response
        /// The image's header. Never coalesced with the others either.
        case header
        /// An image with an unsupported URL.
        case refused
    }

    public var kind: Kind
    /// The number of URL, method, body and fields, without the fields that are excluded from the key.
    public var resource: UInt8
    public var origin: UInt8
    /// The value of the field that is excluded from the key, from 1.
    public var language: UInt8
    /// The requested width; 0 for the image's own.
    public var size: UInt8
    /// The numbers of the processors; 0 for none.
    public var first: UInt8
    public var second: UInt8
    /// The total timeout of the fetch in nanoseconds; 0 for none. Not part of the keys.
    public var totalTime: Int64
    /// The maximum number of redirects to follow. Not part of the keys.
    public var redirects = 20
    /// The source that replaces a URL.
    public var source = Source.none
    /// Whether it is sent with credentials, to its own origin only.
    public var hasCredentials = false
    /// The cache policy.
    public var policy = ImageRequest.CachePolicy.obey
    public var purpose = Purpose.usual
    /// Whether its method is unsafe.
    public var isUnsafe = false
    /// Whether it has the field in which callers differ.
    public var isOfCaller = false
    /// The order among queued loads; nil for that of its caller. Not part of the keys.
    public var order: ImagePipeline.LoadOrder?

    /// The reason for a request.
    public enum Purpose: UInt8, Sendable {
        case usual
        /// The stored response is stale, and this revalidates it.
        case imageRevalidation, revalidation
        /// The stored response is unusable.
        case refetch

        var isRevalidation: Bool { self == .imageRevalidation || self == .revalidation }
    }

    public enum Source: UInt8, Sendable {
        case none
        /// The bytes of an image file.
        case bytes
        /// An image that needs no decoder.
        case image
    }

    public init(kind: Kind, resource: UInt8, origin: UInt8) {
        self.kind = kind
        self.resource = resource
        self.origin = origin
        language = 1
        size = 0
        first = 0
        second = 0
        totalTime = 0
    }

    /// Whether an image from memory is accepted.
    var mayBeInMemory: Bool {
        kind == .image && purpose == .usual && ![.refresh, .reload, .noStore].contains(policy)
    }

    /// The number of stages: fetch, decode, and one for each processor.
    var stages: Int {
        guard kind == .image else { return 1 }
        return first == 0 ? 2 : second == 0 ? 3 : 4
    }

    /// Returns the key of a stage's job. Each key contains the previous one.
    func key(stage: Int, varied: Bool) -> Int {
        let group: Int =
            switch kind {
            case .image, .bytes, .refused: 0
            case .response: 1
            case .header: 2
            }
        var key = memoryKey(stage: stage, varied: varied) | group << 8
        // Requests with another policy or purpose have their own jobs.
        key |= (ImageRequest.CachePolicy.allCases.firstIndex(of: policy) ?? 0) << 30
        key |= Int(purpose.rawValue) << 34
        return key
    }

    /// Returns the key of an image in memory, whatever the policy and purpose of its request.
    func memoryKey(stage: Int, varied: Bool) -> Int {
        var key = Int(resource) | (varied ? Int(language) : 0) << 10
        if stage > 0 { key |= (Int(size) + 1) << 14 }
        if stage > 1 { key |= Int(first) << 22 }
        if stage > 2 { key |= Int(second) << 26 }
        return key
    }
}

/// The identity of an image or a body, as its bytes state it.
public struct Content: Sendable, Hashable {
    public var resource: UInt8
    public var language: UInt8
    /// The exchange that it came from, numbered by the world.
    ///
    /// With a store: the read or the exchange that delivered it.
    public var exchange: Int
    public var size: UInt8
    public var first: UInt8
    public var second: UInt8
    /// The version of its resource; -1 if its bytes are of several.
    public var version: Int

    public init(
        resource: UInt8, language: UInt8, exchange: Int, size: UInt8 = 0, first: UInt8 = 0, second: UInt8 = 0,
        version: Int? = nil
    ) {
        self.version = version ?? exchange
        self.resource = resource
        self.language = language
        self.exchange = exchange
        self.size = size
        self.first = first
        self.second = second
    }
}

extension Content: CustomStringConvertible {
    public var description: String {
        "\(resource) from \(exchange)" + (version == exchange ? "" : " in version \(version)")
            + (language > 0 ? " in language \(language)" : "") + (size > 0 ? " at \(size)" : "")
            + (first > 0 ? " by \(first)" : "") + (second > 0 ? ", \(second)" : "")
    }
}

/// The ending that a caller received.
public enum Ending: Sendable {
    case content(Content, LoadSource?)
    case failure(LoadError.Code)
}

extension Ending: CustomStringConvertible {
    public var description: String {
        switch self {
        case .content(let content, let source): "\(content)" + (source.map { ", \($0)" } ?? "")
        case .failure(let code): "\(code)"
        }
    }
}

/// The limits that the pipeline was configured with.
public struct Bounds: Sendable {
    public var fetches = 64
    public var fetchesPerOrigin = 6
    public var streamsPerOrigin = 64
    public var decodes = 2
    /// The number of decodes that fit into memory at once.
    public var decodesInMemory = Int.max
    public var maximumPixels = 100_000_000
    /// The maximum bytes of all bodies in flight; nil if the limit is never reached.
    public var bodyBytes: Int64?
    /// The order of loads that name none.
    public var order = ImagePipeline.LoadOrder.firstInFirstOut
    /// Whether all requested images are stored in memory; otherwise none is.
    public var storesImages = true
    /// Whether no job waits long enough to be raised and nothing is nested, so that the order is predictable.
    public var isOrderKnown = true
    /// Whether nothing is nested.
    public var isFlat = true
    /// Whether the subscribers of a starting job are exactly the expected ones.
    public var isPriorityKnown = true
    /// Whether `willSend` is set. It is called before each exchange.
    public var callsWillSend = false
    /// Whether a fetch's slot is seen only when the caller's code is called for it.
    public var startsAreHidden = false
    /// Whether the log hook is set.
    public var isLogged = false
    /// Whether there is a store, and servers send caching directives.
    public var hasStore = false
    /// The maximum number of retries, with a store.
    public var retries = 0
    /// The maximum number of tasks in progress.
    public var maximumTasks = Int.max
    public var maximumTasksPerOrigin = Int.max
    /// The number of consecutive connection failures that open an origin's circuit; 0 for none.
    public var failuresToOpen = 0
    /// The backoff limits in nanoseconds.
    public var firstBackoff: Int64 = 0
    public var maximumBackoff: Int64 = 0
    /// Whether loads wait while their origin's circuit is open.
    public var waitsWhileOpen = false
    /// The longest `Retry-After` that is honoured, in milliseconds.
    public var longestRetryAfter: Int64 = 60_000

    public init() {}

    /// Returns how many of `limit` slots are reserved for loads of at least normal priority.
    static func reserve(of limit: Int) -> Int { limit > 1 ? max(1, limit / 4) : 0 }
}

/// The context in which the caller's code runs.
public struct CallContext: Sendable {
    /// The callback queue, or -1.
    public var queue = -1
    /// The load that a call further up this thread is requesting, or -1.
    public var loading = -1
    /// The task whose `cancel()` is further up this thread, or -1.
    public var cancelling = -1
    /// The queue that is dropping its work further up this thread, or -1.
    public var dropping = -1
    /// The call of `willSend` that has just returned, or -1.
    public var returning = -1
    /// The loader that its owner uses further up this thread, or -1.
    public var using = -1
    /// Whether a prefetcher's calls of one turn are further up this thread.
    public var isInTurn = false
    /// Whether work on pixels is further up this thread.
    public var isWorking = false
    /// The job for which the decode executor received that work, or -1.
    public var job = -1
    /// Whether that work makes a preview.
    public var isPreviewing = false
    /// Whether no other thread may run in between.
    public var isAtomic = false

    public init() {}
}

/// A violated rule of the contract.
public struct Violation: Sendable, Hashable, CustomStringConvertible {
    public var rule: Int
    public var message: String

    public init(rule: Int, message: String) {
        self.rule = rule
        self.message = message
    }

    public var description: String { "contract \(rule): \(message)" }
}
