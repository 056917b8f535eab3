public import InflightCore

/// What one load asks for, in the contract's terms: all that makes work the same work, and nothing else.
public struct Wish: Sendable, Hashable {
    public enum Kind: UInt8, Sendable {
        case picture, bytes
        /// Any answer, whatever its status: never shared with the two above.
        case answer
        /// What the picture's header says: as little shared.
        case header
        /// A picture that cannot be asked for.
        case refused
    }

    public var kind: Kind
    /// Which URL, method, body and fields, the harmless ones left out: a number of the world's.
    public var resource: UInt8
    public var origin: UInt8
    /// The value of the harmless field, from 1.
    public var language: UInt8
    /// The wanted width; 0 for the picture's own.
    public var size: UInt8
    /// Processors by number; 0 for none.
    public var first: UInt8
    public var second: UInt8
    /// The time that the fetch may take in all, in nanoseconds; 0 for any.
    public var totalTime: Int64
    /// How many redirects may be followed.
    public var redirects = 20
    /// Where it comes from instead of a URL.
    public var source = Source.none
    /// It is sent with what proves who asks: to its own origin alone.
    public var hasCredentials = false
    /// What is wanted of what is stored.
    public var policy = CachePolicy.obey
    public var purpose = Purpose.usual
    /// Its method changes something.
    public var isUnsafe = false
    /// It has the field by which callers differ.
    public var isOfCaller = false

    /// Why it is asked for.
    public enum Purpose: UInt8, Sendable {
        case usual
        /// What is stored is stale: this follows it.
        case behindPicture, behind
        /// What is stored is of no use.
        case refetch

        var isBehind: Bool { self == .behindPicture || self == .behind }
    }

    public enum Source: UInt8, Sendable {
        case none
        /// A picture's file.
        case bytes
        /// A picture, which needs no decoder.
        case picture
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

    /// Fetch, decode, and a stage for each processor.
    /// Whether a picture that is in memory will do.
    var mayBeInMemory: Bool {
        kind == .picture && purpose == .usual && ![.refresh, .reload, .noStore].contains(policy)
    }

    var stages: Int {
        guard kind == .picture else { return 1 }
        return first == 0 ? 2 : second == 0 ? 3 : 4
    }

    /// What makes the work of a stage the same as another's. Each key holds the one before it.
    func key(stage: Int, varied: Bool) -> Int {
        let group: Int =
            switch kind {
            case .picture, .bytes, .refused: 0
            case .answer: 1
            case .header: 2
            }
        var key = memoryKey(stage: stage, varied: varied) | group << 8
        // Loads with another policy, or for another purpose, are other jobs.
        key |= (CachePolicy.allCases.firstIndex(of: policy) ?? 0) << 30
        key |= Int(purpose.rawValue) << 34
        return key
    }

    /// What a picture is known by in memory: the same whatever it was asked for.
    func memoryKey(stage: Int, varied: Bool) -> Int {
        var key = Int(resource) | (varied ? Int(language) : 0) << 10
        if stage > 0 { key |= (Int(size) + 1) << 14 }
        if stage > 1 { key |= Int(first) << 22 }
        if stage > 2 { key |= Int(second) << 26 }
        return key
    }
}

/// What a picture or a body holds, as far as its bytes tell.
public struct Content: Sendable, Hashable {
    public var resource: UInt8
    public var language: UInt8
    /// Which exchange it came from, counted by the world.
    ///
    /// Where there is a store: which reading of it, or which exchange, brought it.
    public var exchange: Int
    public var size: UInt8
    public var first: UInt8
    public var second: UInt8
    /// Which state of its resource; -1 where its bytes are of several.
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

/// What a load gave its caller.
public enum Ending: Sendable {
    case content(Content, LoadSource?)
    case failure(LoadError.Code)
}

/// The bounds that were asked of the pipeline.
public struct Bounds: Sendable {
    public var fetches = 64
    public var fetchesPerOrigin = 6
    public var streamsPerOrigin = 64
    public var decodes = 2
    /// How many of them there is memory for at once.
    public var decodesInMemory = Int.max
    public var maximumPixels = 100_000_000
    /// Bytes of all bodies in flight; `nil`: more than there ever are.
    public var bodyBytes: Int64?
    /// Places that low priorities leave free.
    public var reserved = 0
    public var isLastInFirstOut = false
    /// Pictures that somebody asked for are all kept in memory; otherwise none is.
    public var keepsPictures = true
    /// Nothing waits long enough to be raised, and nothing happens inside anything else: who goes first can be foretold.
    public var isOrderKnown = true
    /// Nothing happens inside anything else.
    public var isFlat = true
    /// Those who wait for something at its start are those who are to.
    public var isPriorityKnown = true
    /// `willSend` is set: it is asked before each exchange.
    public var asksBefore = false
    /// What takes a fetch's place is seen only when the caller's code is called that was asked for.
    public var startsAreHidden = false
    /// The log hook is set.
    public var isLogged = false
    /// There is a store, and servers tell what may be kept.
    public var hasStore = false
    /// Tries after the first, where there is a store.
    public var retries = 0
    /// Tasks that may be in progress at once.
    public var maximumTasks = Int.max
    /// How many connection failures in a row open an origin's circuit; 0 where none does.
    public var failuresToOpen = 0
    /// In nanoseconds.
    public var firstBackoff: Int64 = 0
    public var maximumBackoff: Int64 = 0
    /// Loads wait while their origin's circuit is open.
    public var waitsWhileOpen = false
    /// The longest wait that a server is obeyed for, in milliseconds.
    public var longestRetryAfter: Int64 = 60_000

    public init() {}
}

/// Where code of the caller runs.
public struct Place: Sendable {
    /// The callback queue, or -1.
    public var queue = -1
    /// The load that is being asked for by a call further up this thread, or -1.
    public var loading = -1
    /// The task whose `cancel()` is further up this thread, or -1.
    public var cancelling = -1
    /// The queue that is letting go of its work further up this thread, or -1.
    public var dropping = -1
    /// The call of `willSend` that has just returned, or -1.
    public var returning = -1
    /// The loader that its owner uses further up this thread, or -1.
    public var using = -1
    /// Calls of a prefetcher's that belong to a turn are further up this thread.
    public var isInTurn = false
    /// A piece of work on pixels is further up this thread.
    public var isWorking = false
    /// It makes a preview.
    public var isPreviewing = false
    /// No other thread comes between.
    public var isAtomic = false

    public init() {}
}

/// A rule of the contract that did not hold.
public struct Violation: Sendable, Hashable, CustomStringConvertible {
    public var rule: Int
    public var message: String

    public init(rule: Int, message: String) {
        self.rule = rule
        self.message = message
    }

    public var description: String { "contract \(rule): \(message)" }
}
