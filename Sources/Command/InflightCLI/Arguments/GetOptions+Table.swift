import Inflight
import InflightCore

extension GetOptions {
    static var table: [OptionGroup<Self>] {
        [
            OptionGroup("Input", input), OptionGroup("Output files", files),
            OptionGroup("Image (as it came, unless one of these is given)", image), OptionGroup("Limits", limits),
            OptionGroup("Disk cache, by HTTP's rules", CacheOptions.rows.map { $0.of(\.cache) }),
            OptionGroup("Network", faults + NetworkOptions.requestRows.map { $0.of(\.network) }),
            OptionGroup("Decoding", NetworkOptions.decodingRows.map { $0.of(\.network) }),
            OptionGroup("Output", output),
        ]
    }

    private static var input: [Option<Self>] {
        [
            .argument("URL…", "http:, https:, file: or data:"),
            Option(
                "-i FILE",
                "one URL per line; - is standard input. Blank lines and lines that begin with # are skipped"
            ) { options, value in
                if options.list != nil { throw UsageError("-i was given twice; there can be one list.") }
                options.list = try value.path("a file, or -")
            },
        ]
    }

    private static var files: [Option<Self>] {
        [
            Option(
                "-o DIR",
                """
                the directory for the files, created if it does not exist. Without it, the one URL goes to standard \
                output
                """
            ) { $0.directory = try $1.path("a directory") },
            Option(
                "--previews",
                "also store progressive previews: NAME.preview-1.png and so on, each better than the last",
                \.showsPreviews),
            Option("--discard", "store nothing: to check links, or to warm a cache", \.discards),
            Option("--skip-existing", "skip URLs whose file already exists in DIR and is whole", \.skipsExisting),
        ]
    }

    private static var image: [Option<Self>] {
        [
            Option("--size WxH", "resize to fit; Wx and xH give one side only") { $0.given.size = try $1.size() },
            Option(
                "--fit HOW",
                "contain (default); cover, which crops; fill, which distorts; exact, which enlarges too"
            ) { $0.given.fit = try $1.choice() as Resize.Fit },
            Option(
                "--crop PART",
                """
                what cover keeps: center (default), top, bottom, left, right, top-left …, or interest: where most is \
                to see
                """
            ) { $0.given.gravity = try $1.choice() as Resize.Gravity },
            Option("--enlarge", "also upscale smaller images", \.given.enlarges),
            Option(
                "--linear", "resize in linear light, so that fine detail keeps its lightness; slower", \.given.isLinear),
            Option("--page N", "of a tiff file that has several, from 1") { $0.page = try $1.page() },
            Option(
                "--process STEPS",
                """
                process it, in this order: steps between commas, their values behind colons, as in blur:4,grey; \
                inflight --help lists them
                """
            ) { $0.processors += try ProcessList.parse($1) },
        ] + encoding + [
            Option(
                "--incomplete", "decode what is left of damaged images: the rest is transparent, or coarse",
                \.acceptsIncomplete),
            Option(
                "--raw",
                "store the bytes as they came, checked to be a whole image (the default without these options)",
                \.given.raw),
            Option("--verify", "decode it too, to be sure", \.given.verify),
            Option("--any", "take any body, video or text, without looking", \.given.any),
        ]
    }

    private static var encoding: [Option<Self>] {
        [
            Option(
                "--format FORMAT",
                "keep (default; what cannot be encoded becomes png), jpeg, png, webp, avif"
            ) { options, value in
                let formats: [ImageFormat] = [.jpeg, .png, .webp, .avif]
                options.format = try value.choice([("keep", nil)] + formats.map { ($0.rawValue, $0) })
                options.given.format = true
            },
            Option("--quality N", "1 to 100: jpeg (default 85), webp (80), avif (60)") {
                $0.quality = try $1.integer(1...100)
            },
            Option("--progressive", "encode a progressive jpeg", \.isProgressive),
            Option("--lossless", "every pixel as it is: for webp, as png always does", \.isLossless),
            Option(
                "--keep-metadata",
                "write what it says of camera, time and place into the new image; by default all of that is left out",
                \.keepsMetadata),
            Option(
                "--background COLOUR",
                "behind transparent images that become jpeg: white (default), black or #rrggbb"
            ) { $0.background = try $1.color() },
        ]
    }

    private static var limits: [Option<Self>] {
        [
            Option("--concurrency N", "loads at once (16)") { $0.network.concurrency = try $1.integer(1...1000) },
            Option("--per-host N", "loads at once from one host (6)") { $0.network.perHost = try $1.integer(1...1000) },
        ]
            + ([NetworkOptions.bodyBudget, NetworkOptions.pixelLimit] + NetworkOptions.limitRows).map {
                $0.of(\.network)
            }
    }

    private static var faults: [Option<Self>] {
        [
            Option("--retries N", "retry up to N times after a transient failure (2)") {
                $0.network.retries = try $1.integer(0...100)
            },
            Option(
                "--circuit-breaker N",
                """
                after N connection failures in a row, fail an origin's other loads at once, and probe it now and then \
                (5); 0 disables this
                """
            ) { $0.network.circuitBreaker = try $1.integer(0...1000) },
            Option("--checksum sha256:HEX", "expected SHA-256 of the one body") { options, value in
                guard let sum = Checksum(value.text) else {
                    throw UsageError("--checksum takes sha256: and 64 hexadecimal digits, not \(value.text.quoted).")
                }
                options.checksum = sum
            },
        ]
    }

    private static var output: [Option<Self>] {
        [
            Option(
                "--json", "a line of JSON on standard output for each URL, in the order of asking", \.network.json),
            Option("--unordered", "those lines as the loads end", \.isUnordered),
            Option(
                "--report FILE", "a page that shows the whole run: one HTML file that needs nothing else"
            ) { options, value in
                options.report = try value.path("a file, such as report.html")
                if options.report == "-" {
                    throw UsageError("--report needs the name of a file, such as report.html, not \"-\".")
                }
            },
            Option("--trace FILE.json", "when everything happened, for ui.perfetto.dev and chrome://tracing") {
                $0.trace = try $1.path("a file")
            },
            Option("--quiet", "no progress and no summary; failures only", \.network.isQuiet),
            Option(
                "--verbose",
                """
                what happens to each URL: what was found where, what was sent and shared, and what each stage took
                """, \.network.isVerbose),
        ]
    }

    static let introduction = """
        Fetches images, checks that they are whole, and stores them.

        Usage: inflight get [URL…] [-i FILE] -o DIR [options]
        """

    static let notes = """
        Exit status: 0 all well, 1 something failed, 64 usage error, 66 the list or the
        certificates cannot be read, 130 after Ctrl-C, 143 after SIGTERM. What is
        finished is kept; a file appears whole or not at all.

        Examples:
          inflight get https://example.org/cat.jpg -o pictures
          inflight get https://example.org/cat.jpg --size 320x > cat.jpg
          inflight get -i urls.txt -o thumbnails --size 320x240 --format webp
          inflight get URL --size 96x96 --fit cover --process circle --format png >me
          inflight get -i urls.txt --discard --json | grep failed
        """
}
