import Inflight
import InflightCore

extension GetOptions {
    static var table: [OptionGroup<Self>] {
        [
            OptionGroup("Input", input), OptionGroup("Output files", files),
            OptionGroup("Image", image), OptionGroup("Limits", limits),
            OptionGroup("Disk cache", CacheOptions.rows.map { $0.of(\.cache) }),
            OptionGroup("Network", faults + NetworkOptions.requestRows.map { $0.of(\.network) }),
            OptionGroup("Decoding", NetworkOptions.decodingRows.map { $0.of(\.network) }),
            OptionGroup("Output", output),
        ]
    }

    private static var input: [Option<Self>] {
        [
            .argument("URL…", "URLs with http:, https:, file: or data:"),
            Option(
                "-i FILE",
                "read one URL per line; - is standard input. Blank lines and lines that begin with # are skipped",
                .file
            ) { $0.list = try $1.path("a file, or -") },
        ]
    }

    private static var files: [Option<Self>] {
        [
            Option(
                "-o PATH",
                "write to this folder, created if missing, or for one URL to this file (default: standard output)",
                .file
            ) { $0.output = try $1.path("a folder or a file") },
            Option(
                "--previews",
                "also store progressive previews (NAME.preview-1.png …)",
                \.showsPreviews),
            Option("--discard", "store no files: to check links, or to warm the cache", \.discards),
            Option(
                "--skip-existing", "skip URLs whose complete file is in DIR, stored with the same image options",
                \.skipsExisting),
            Option(
                "--update", "request such URLs only if changed, with ETag or Last-Modified, and store what changed",
                \.updates),
            Option(
                "--overwrite", "replace files of the same name, also those of other URLs (default: keep them)",
                \.overwrites),
        ]
    }

    private static var image: [Option<Self>] {
        ImageOptions.rows(keepsFormat: true).map { $0.of(\.image) } + [
            Option(
                "--incomplete", "decode the intact part of damaged images; the rest is transparent or coarse",
                \.allowsPartialImage),
            Option(
                "--raw",
                "store bodies unchanged after a structure check (default, unless an option above requires re-encoding)",
                \.given.raw),
            Option("--verify", "also decode images that are stored unchanged", \.given.verify),
            Option("--any", "accept any body, such as video or text, unchecked", \.given.any),
        ]
    }

    private static var limits: [Option<Self>] {
        (NetworkOptions.concurrencyRows(16, perHost: "over HTTP/1.1 (default 6)")
            + [NetworkOptions.bodyBudget, NetworkOptions.pixelLimit] + NetworkOptions.limitRows()).map {
                $0.of(\.network)
            }
    }

    private static var faults: [Option<Self>] {
        NetworkOptions.retryRows.map { $0.of(\.network) } + [
            Option("--checksum sha256:HEX", "expected SHA-256 of the body, for a single URL") { options, value in
                guard let sum = Checksum(value.text) else {
                    throw value.invalid("sha256: and 64 hexadecimal digits")
                }
                options.checksum = sum
            }
        ]
    }

    private static var output: [Option<Self>] {
        [
            Option("--json", "print one line of JSON for each URL, in list order", \.network.json),
            Option("--unordered", "with --json, print lines as loads finish", \.isUnordered),
            Option(
                "--report FILE", "write the run as one self-contained HTML page", .file
            ) { options, value in
                let expected = "a file, such as report.html"
                options.report = try value.path(expected)
                if options.report == "-" { throw value.invalid("the name of \(expected)") }
            },
            Option("--trace FILE.json", "write a trace for ui.perfetto.dev and chrome://tracing", .file) {
                $0.trace = try $1.path("a file")
            },
            Option(
                "--har FILE.har", "write the HTTP exchanges as an HTTP Archive (HAR 1.2), without credentials", .file
            ) {
                $0.har = try $1.path("a file")
            },
            Option("--quiet", "print failures only, without progress and summary", \.network.isQuiet),
            Option(
                "--verbose",
                "print cache lookups, requests, coalescing and times of each URL", \.network.isVerbose),
        ]
    }

    static let manual = CommandManual(
        summary: "fetch, check, resize and store images",
        arguments: "URL… -o DIR",
        usage: ["[URL…] [-i FILE] -o DIR [options]", "URL [options] > FILE"],
        introduction: """
            Fetches images, checks their structure, and stores them: unchanged, unless an
            option such as --size, --process or --format requires re-encoding.
            """,
        notes: """
            Steps of --process (lengths in pixels; N is a factor, 1 for no change):
              resize:WxH[:FIT[:GRAVITY[:LIGHT]]]  crop:WxH[:GRAVITY]  crop:WxH+X+Y
              rotate:DEGREES                      flip:horizontal  flip:vertical
              blur:RADIUS                         sharpen[:AMOUNT[:RADIUS]]
              grey                                brightness:N  contrast:N  saturation:N
              round:RADIUS[:BORDER:COLOUR]        circle[:BORDER:COLOUR]
              border:WIDTH:COLOUR                 flatten[:COLOUR]

            Cache policies:
              obey           follow HTTP caching rules
              refresh        revalidate stored responses
              reload         fetch complete responses, and replace stored ones
              only-cached    contact no server; fail if no fresh response is stored
              prefer-cached  use stored responses of any age
              no-store       neither use nor store responses

            If an option is given twice, the last value counts, unless it is repeatable.
            Files are written atomically. After Ctrl-C, finished files are kept.

            A folder has a hidden index, .inflight.index, of the URLs of its files. A later
            run replaces the file of a URL with its new image, and keeps all other files:
            a new image whose name is taken gets a number (cat-2.jpg). Without the index,
            which may be removed, all files are kept.
            """,
        noInput: "the list or the certificates cannot be read",
        environment: [CommandManual.cacheVariable, CommandManual.colorVariable] + CommandManual.loadingVariables,
        files: [CommandManual.cacheFolder],
        examples: [
            "inflight get https://example.org/cat.jpg -o images",
            "inflight get https://example.org/cat.jpg --size 320x > cat.jpg",
            "inflight get -i urls.txt -o thumbnails --size 320x240 --format webp",
            "inflight get URL --size 96x96 --fit cover --process circle --format png >me",
            "inflight get -i urls.txt --discard --json | grep failed",
        ])
}
