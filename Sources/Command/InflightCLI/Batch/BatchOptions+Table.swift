import Inflight
import InflightBatch
import InflightCore

extension BatchOptions {
    static var table: [OptionGroup<Self>] {
        [
            OptionGroup("Actions", actions), OptionGroup("Input", input), OptionGroup("Output files", files),
            OptionGroup("Image", ImageOptions.rows(keepsFormat: false).map { $0.of(\.image) } + storing),
            OptionGroup("Filters", filters),
            OptionGroup("Politeness", politeness), OptionGroup("Limits", limits),
            OptionGroup("Network", network),
            OptionGroup("Decoding", NetworkOptions.decodingRows.map { $0.of(\.network) }),
            OptionGroup("Output", output),
        ]
    }

    private static var actions: [Option<Self>] {
        [
            .argument(
                "INPUT…", "download, or resume: text, JSON, CSV or TSV, plain, gzip or zstd, or a folder; - is stdin"),
            .argument("status DIR", "print what a run has done, and its failures by class and host"),
            .argument("retry DIR", "download the URLs of transient failures again, or of those named by --class"),
            .argument("verify DIR", "read all shards, and print what is damaged"),
            Option(
                "--class LIST", "retry: only failures of these classes, such as timedOut,http_503", isRepeatable: true
            ) {
                $0.retriedClasses.formUnion(try $1.list("a class, such as timedOut or http_503"))
            },
            Option(
                "--stream", "answer each row of standard input (JSON Lines) on standard output, for other programs",
                \.streams),
            Option("--files DIR", "stream: write images to this folder instead of the answers", .folder) {
                $0.streamImages = .files(try $1.folder())
            },
            Option("--binary", "stream: write images as bytes, each after the line of its answer", values: 0) {
                options, _ in options.streamImages = .afterLines
            },
        ]
    }

    private static var input: [Option<Self>] {
        let formats: [(name: String, value: InputFormat)] = [
            ("text", .text), ("json", .json), ("jsonl", .json), ("csv", .csv), ("tsv", .tsv),
        ]
        return [
            Option(
                "--input-format F", "text, json (array or lines), csv or tsv (default: by the name of each input)",
                formats
            ) { $0.inputFormat = $1 },
            Option(
                "--quoting HOW", "quotes in CSV and TSV: csv (RFC 4180; default of CSV) or none (default of TSV)",
                OptionValue.choices()
            ) { (options, quoting: InputOptions.Quoting) in options.columns.quoting = quoting },
            Option(
                "--rows-of FILE=N", "call the next N rows of standard input those of FILE, in messages and rejects",
                isRepeatable: true
            ) { options, value in
                let (file, number) =
                    value.text.lastIndex(of: "=").map {
                        (value.text[..<$0], OptionValue.digits(String(value.text[value.text.index(after: $0)...])))
                    } ?? ("", nil)
                guard !file.isEmpty, let number else { throw value.invalid("a file and its rows, such as a.parquet=9") }
                options.standardInputParts.append(InputSource.Part(name: String(file), rowCount: number))
            },
            Option("--columns-are LIST", "the columns of CSV and TSV without a header, such as caption,url") {
                let names = try $1.list("a column")
                guard Set(names).count == names.count else { throw $1.invalid("each column once") }
                $0.columns.columnNames = names
            },
            Option("--url-column NAME", "column or JSON member of the URL (default url)") {
                $0.columns.urlColumn = try $1.path("a column")
            },
            Option("--id-column NAME", "column of the identifier, for --keys id") {
                $0.columns.idColumn = try $1.path("a column")
            },
            Option("--caption-column NAME", "column of the caption, which becomes KEY.txt") {
                $0.columns.captionColumn = try $1.path("a column")
            },
            Option("--columns LIST", "columns to copy to the output (default: all of the first shard)") {
                $0.ownColumns = try $1.list("a column")
            },
            Option("--row-limit SIZE", "reject longer rows (default 1M); units K, M and G are powers of 1024") {
                $0.columns.rowLimit = try $1.bytes(1...(1 << 32))
            },
            Option("--part I/N", "download part I of N, so that N machines share the input") { options, value in
                let numbers = value.text.split(separator: "/", omittingEmptySubsequences: false)
                    .map { OptionValue.digits(String($0)) }
                guard numbers.count == 2, let number = numbers[0], let count = numbers[1],
                    let part = ShardLayout.Part(number: number, of: count)
                else { throw value.invalid("a part and the number of parts, such as 0/8 to 7/8, or 1/8 to 8/8") }
                options.part = part
            },
            Option("--part-by HOW", "host (default): each host in one part; row: equal parts", OptionValue.choices()) {
                $0.division = $1
            },
        ]
    }

    /// The layouts by their names, which the journal stores.
    static let forms: [(name: String, value: ShardWriter.Form)] = [
        ("webdataset", .webdataset), ("files", .files), ("hashed", .hashedFiles),
    ]

    private static var files: [Option<Self>] {
        [
            Option("-o DIR", "write to this folder; the same command resumes a run in it", .folder) {
                $0.folder = try $1.folder()
            },
            Option(
                "--layout HOW", "webdataset (default): tar shards; files: a folder per shard; hashed: by digest",
                .words(forms.map(\.name))
            ) {
                if ["parquet", "tfrecord"].contains($1.text) {
                    throw UsageError(
                        "The layout \($1.text) is written by the Python package, with the same arguments: "
                            + "python -m inflight batch.")
                }
                $0.form = try $1.choice(forms)
            },
            Option("--shard-size N", "rows per shard (default 10000)") {
                $0.shardSize = try $1.integer(1...ShardLayout.maximumShardSize)
            },
            Option(
                "--keys HOW", "names of samples: position (default), id (see --id-column) or digest (of the URL)",
                OptionValue.choices()
            ) { $0.keys = $1 },
            Option("--dedupe content", "store equal bodies once", [("content", true)]) { $0.deduplicatesContent = $1 },
            Option(
                "--then PROGRAM",
                "call PROGRAM FILE for each finished archive, sidecar and statistics, then remove these files", .file
            ) { $0.then = try $1.path("a program") },
            Option("--keep-local", "with --then: do not remove the files", \.keepsFiles),
            Option("--staging SIZE", "maximum size of images that wait for their shard (default 8G)") {
                $0.stagingLimit = Int64(try $1.bytes((1 << 20)...(1 << 60)))
            },
        ]
    }

    private static var storing: [Option<Self>] {
        [
            Option("--raw", "store the bodies of images unchanged, each with the extension of its format", \.isRaw),
            Option(
                "--raw-if-unchanged", "store bodies unchanged that have the output's format and size already",
                \.keepsUnchanged),
            Option("--bbox-column NAME", "blur the boxes in this column: a list of [left, top, right, bottom], 0 to 1")
            {
                $0.columns.boxColumn = try $1.path("a column")
            },
        ]
    }

    private static var filters: [Option<Self>] {
        [
            Option("--min-size WxH", "fail images with less than W × H pixels (too_small); Wx and xH check one side") {
                let size = try $1.size()
                ($0.filter.minimumWidth, $0.filter.minimumHeight) = (size.width ?? 0, size.height ?? 0)
            },
            Option("--max-aspect-ratio R", "fail images whose longest side exceeds R times the shortest (aspect_ratio)")
            {
                guard let ratio = Double($1.text), (1...65_535).contains(ratio) else {
                    throw $1.invalid("a number from 1 to 65,535, such as 3 or 2.5")
                }
                $0.filter.maximumAspectRatio = ratio
            },
            Option("--sha256-column NAME", "fail bodies whose SHA-256 is not that in this column (hash_mismatch)") {
                $0.columns.digestColumns[.sha256] = try $1.path("a column")
            },
            Option("--md5-column NAME", "the same with MD5") {
                $0.columns.digestColumns[.md5] = try $1.path("a column")
            },
        ]
    }

    private static var politeness: [Option<Self>] {
        NetworkOptions.concurrencyRows(256, perHost: "(default 2)").map { $0.of(\.network) } + [
            Option("--delay SECONDS", "minimum time between requests to one host (default none)") {
                $0.delay = try $1.seconds()
            },
            Option("--host-patience S", "fail rows that wait longer than S seconds for their host (default 600)") {
                $0.hostPatience = try $1.seconds()
            },
            Option("--ignore-robots", "do not fetch or obey robots.txt", \.ignoresRobots),
            Option(
                "--opt-out-policy LIST",
                "header fields to respect: all (default), none, or some of "
                    + OptOut.Signal.allCases.map(\.rawValue).joined(separator: ",")
            ) { $0.honoredSignals = try signals($1) },
            Option("--contact URL", "name a page or mailto: address in the User-Agent") {
                $0.network.userAgent = try userAgent($1)
            },
            Option("--allow-private", "also connect to loopback and private addresses", \.allowsPrivateAddresses),
        ]
    }

    private static func signals(_ value: OptionValue) throws(UsageError) -> Set<OptOut.Signal> {
        switch value.text {
        case "all": return Set(OptOut.Signal.allCases)
        case "none": return []
        default:
            var signals: Set<OptOut.Signal> = []
            for word in try value.list("a signal") {
                guard let signal = OptOut.Signal(rawValue: word) else {
                    throw value.invalid("all, none, or " + OptOut.Signal.allCases.map(\.rawValue).joined(last: " and "))
                }
                signals.insert(signal)
            }
            return signals
        }
    }

    private static func userAgent(_ value: OptionValue) throws(UsageError) -> String {
        let isMail = value.text.hasPrefix("mailto:") && value.text.contains("@")
        let isSafe = value.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ")") }
        guard isSafe, isMail || (try? ResourceURL(value.text))?.origin != nil else {
            throw value.invalid("a URL, such as https://example.org/crawler or mailto:crawler@example.org")
        }
        return "\(Version.text.replacing(" ", with: "/")) (+\(value.text))"
    }

    private static var limits: [Option<Self>] {
        let timeouts: [Option<NetworkOptions>] = [
            Option("--connect-timeout S", "time limit for name resolution and connection (default 10)") {
                $0.limits.connectTimeout = try $1.seconds()
            },
            Option("--stall-timeout S", "end transfers without a byte for S seconds (default 15)") {
                $0.limits.stallTimeout = try $1.seconds()
            },
        ]
        return
            (timeouts + NetworkOptions.limitRows(timeout: "60")
            + [NetworkOptions.bodyBudget, NetworkOptions.pixelLimit])
            .map { $0.of(\.network) }
    }

    private static var network: [Option<Self>] {
        let shared = NetworkOptions.requestRows.filter { ["--header", "--cacert"].contains($0.name) }
        return (NetworkOptions.retryRows + shared).map { $0.of(\.network) }
    }

    private static var output: [Option<Self>] {
        [
            Option("--max-failure-rate R", "exit with 1 if a larger share of all rows has failed (default 1)") {
                guard let rate = Double($1.text), (0...1).contains(rate) else {
                    throw $1.invalid("a number from 0 to 1")
                }
                $0.maximumFailureRate = rate
            },
            Option("--strict", "exit with 75 if transient failures remain", \.isStrict),
            Option("--report FILE", "write totals and a sample of rows as one HTML page", .file) {
                $0.report = try $1.path("a file, such as report.html")
            },
            Option(
                "--json", "print events as lines of JSON: start, progress, shard, handover, warning, end",
                \.network.json),
            Option("--quiet", "print errors and the number of malformed rows only", \.network.isQuiet),
        ]
    }

    static let manual = CommandManual(
        summary: "download many images into a dataset; resumable",
        arguments: "INPUT… -o DIR",
        suggestion: .file,
        actions: BatchOptions.Action.allCases.filter { $0 != .run }.map(\.rawValue),
        usage: [
            "INPUT… -o DIR --format FORMAT [options]", "retry DIR [--class LIST] [options]",
            "status|verify DIR [--json] [--quiet]", "--stream --format FORMAT [options]",
        ],
        introduction: """
            Downloads the images of millions of rows into shards, at a pace that suits
            each host. Records every outcome in DIR: the same command resumes a run that
            was interrupted or killed.
            """,
        notes: """
            The Python package reads lists in Parquet, and has the layouts parquet and
            tfrecord, with the same arguments: python -m inflight batch. The first
            argument may be an action. A file of that name is given as ./status.
            Malformed rows are listed in DIR/rejects.jsonl and skipped, and counted on
            standard error. If no row of an input can be used, the status is 65. The
            options of a run are stored in DIR/command.json for retry, except --header,
            and rows of standard input in DIR/input.zst. retry also takes options, for
            other limits. Steps of --process: inflight get --help.
            """,
        failure: "more rows failed than --max-failure-rate allows, or verify found damage",
        noInput: "an input, the folder, the program of --then or the certificates cannot be read",
        furtherStatuses: [
            (65, "an input is empty, malformed or not that of the run in DIR"),
            (73, "DIR cannot be written, or the program of --then fails"),
            (75, "transient failures remain, with --strict"),
        ],
        environment: [CommandManual.colorVariable] + CommandManual.loadingVariables,
        examples: [
            "inflight batch urls.txt -o cats --format jpeg --size 256x256 --fit cover",
            "inflight batch laion.csv.gz -o laion --format webp --caption-column text",
            "inflight batch status cats",
            "inflight batch retry cats --class timedOut,http_503",
        ])
}
