import Inflight
import InflightCore
import InflightWorker

/// The options shared by `get`, `info` and `show`: network access and decoding.
struct NetworkOptions: Equatable, Sendable {
    struct Header: Equatable, Sendable {
        var name: String
        var value: String
        /// The host to send the field to; if `nil`, every host.
        var host: HostPattern?
    }

    var headers: [Header] = []
    var limits = ImageRequest.Limits()
    /// The maximum number of concurrent loads.
    var concurrency = 1
    /// The maximum number of concurrent loads from one host.
    var perHost = 1
    /// The maximum number of retries.
    var retries = 0
    /// The number of consecutive connection failures that open an origin's circuit breaker; 0 disables it.
    var circuitBreaker = 5
    /// The maximum number of bytes of all bodies in flight.
    var maximumBytesInFlight: Int64 = 256 << 20
    var certificateFile: String?
    var connectsToPublicOnly = false
    /// The `User-Agent`; if `nil`, the name and version of the program.
    var userAgent: String?
    var decoding = DecodeIsolation.auto
    var drawsSVG = false
    var requiredProtections: Set<DecoderConfiguration.Protection> = []
    var json = false
    var isQuiet = false
    var isVerbose = false

    func validate() throws(UsageError) {
        if isQuiet && isVerbose { throw UsageError("--quiet and --verbose cannot be combined.") }
        if decoding == .inProcess && !requiredProtections.isEmpty {
            throw UsageError("--require-protection and --decode in-process cannot be combined.")
        }
    }

    /// Returns the options of the commands that load many URLs concurrently.
    static func concurrencyRows(_ concurrency: Int, perHost: String) -> [Option<Self>] {
        [
            Option("--concurrency N", "maximum number of concurrent loads (default \(concurrency))") {
                $0.concurrency = try $1.integer(1...1000)
            },
            Option("--per-host N", "maximum number of concurrent loads from one host \(perHost)") {
                $0.perHost = try $1.integer(1...1000)
            },
        ]
    }

    static var retryRows: [Option<Self>] {
        [
            Option("--retries N", "retry transient failures up to N times (default 2)") {
                $0.retries = try $1.integer(0...100)
            },
            Option(
                "--circuit-breaker N",
                "after N connection failures in a row, fail other loads from an origin at once (default 5; 0 disables it)"
            ) { $0.circuitBreaker = try $1.integer(0...1000) },
        ]
    }

    static func limitRows(timeout: String = "none") -> [Option<Self>] {
        [
            Option(
                "--timeout SECONDS",
                "time limit per URL with its redirects, without waits for retries (default \(timeout))"
            ) { $0.limits.totalTimeout = try $1.seconds() },
            Option(
                "--min-rate N",
                "end transfers slower than N bytes/s over 30 s (default 1024; 0 disables the check)"
            ) { $0.limits.minimumBytesPerSecond = try $1.integer(0...Int.max) },
            Option("--max-bytes N", "maximum bytes per body or file (default 200000000)") {
                $0.limits.maximumBodyBytes = Int64(try $1.integer(1...Int.max))
            },
            Option("--max-redirects N", "maximum number of redirects per URL (default 20)") {
                $0.limits.maximumRedirects = try $1.integer(0...1000)
            },
        ]
    }

    /// The option of the command that loads many URLs concurrently.
    static var bodyBudget: Option<Self> {
        Option(
            "--max-in-flight N",
            "maximum bytes of all bodies in memory (default 268435456, 256 MiB); beyond it, transfers pause"
        ) { $0.maximumBytesInFlight = Int64(try $1.integer(0...Int.max)) }
    }

    /// The option of the commands that decode every image.
    static var pixelLimit: Option<Self> {
        Option("--max-pixels N", "maximum number of pixels per image (default 100000000)") {
            $0.limits.maximumPixels = try $1.integer(1...Int.max)
        }
    }

    static var requestRows: [Option<Self>] {
        [
            Option("--header 'K: V'", "send a header field to every host", isRepeatable: true) {
                $0.headers.append(try $1.header())
            },
            Option(
                "--header-for HOST 'K: V'",
                "send a header field only to HOST or HOST:PORT, never after a redirect to another origin", values: 2,
                isRepeatable: true
            ) { options, value in
                var header = try value.second.header()
                header.host = try value.host()
                options.headers.append(header)
            },
            Option("--cacert FILE", "trust these certificates (PEM) instead of the system's", .file) {
                $0.certificateFile = $1.text
            },
            Option("--public-only", "connect to public addresses only, also after redirects", \.connectsToPublicOnly),
        ]
    }

    static var decodingRows: [Option<Self>] {
        let protections = [DecoderConfiguration.Protection.landlock, .namespaces]
        return [
            Option(
                "--decode WHERE",
                """
                auto (default): sandbox AVIF, HEIC, JPEG XL and TIFF; worker: sandbox all formats; in-process: none
                """,
                OptionValue.choices()
            ) { $0.decoding = $1 },
            Option(
                "--require-protection LIST",
                "refuse decoder processes without these protections: landlock, namespaces",
                .words(protections.map(\.rawValue)), isRepeatable: true
            ) {
                for word in $1.text.split(separator: ",", omittingEmptySubsequences: false) {
                    let choices = protections.map { (name: $0.rawValue, value: $0) }
                    $0.requiredProtections.insert(try OptionValue($1.name, [String(word)]).choice(choices))
                }
            },
            Option("--svg", "also render SVG", \.drawsSVG),
        ]
    }
}
