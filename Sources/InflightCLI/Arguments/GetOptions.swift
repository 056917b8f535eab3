import Inflight

/// What `inflight get` was asked to do.
struct GetOptions: Equatable, Sendable {
    /// What becomes of a body.
    enum Treatment: Equatable, Sendable {
        /// Stored as it came, after its structure was walked; decoded too where `verified`.
        case asItCame(verified: Bool)
        /// Stored as it came, whatever it is.
        case anything
        /// Decoded, resized and written anew.
        case remade
    }

    var urls: [String] = []
    /// `-`: standard input.
    var list: String?
    var directory: String?
    var treatment = Treatment.asItCame(verified: false)
    var resize: Resize?
    /// Which page, from 0; `nil`: the first.
    var page: Int?
    /// What is done to the picture after that.
    var processors: [ImageProcessor] = []
    /// `nil`: the source's.
    var format: ImageFormat?
    var quality: Int?
    var isProgressive = false
    var isLossless = false
    /// Whether what a file says beside its pixels is written into the one that is made of it.
    var keepsMetadata = false
    var background: [UInt8] = [255, 255, 255]
    var discards = false
    /// Of a damaged picture what can be decoded is taken.
    var acceptsIncomplete = false
    /// What there is of a picture while it comes is stored too.
    var showsPreviews = false
    var skipsExisting = false
    var isUnordered = false
    /// The file for the report of the run.
    var report: String?
    var concurrency = 16
    var perHost = 6
    var cache = CacheOptions()
    /// Tries after the first.
    var retries = 2
    /// How many connection failures in a row open an origin's circuit; 0 where none does.
    var circuitBreaker = 5
    /// Of the one body that is fetched.
    var checksum: Checksum?
    var network = NetworkOptions()

    /// The file for a trace of the run.
    var trace: String?

    /// Whether somebody wants to know what happened to each URL.
    var isRecorded: Bool { trace != nil || report != nil || network.isVerbose }

    /// Whether the report shows small pictures of what was loaded.
    var wantsThumbnails: Bool { report != nil }

    /// Whether the bytes of the one URL go to standard output.
    var writesToStandardOutput: Bool { directory == nil && !discards }
}
