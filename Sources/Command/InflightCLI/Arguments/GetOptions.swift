import Inflight

/// The options of `inflight get`. Those of the encoded image are members, too.
@dynamicMemberLookup
struct GetOptions: CommandOptions {
    /// The treatment of a response body.
    enum Treatment: Equatable, Sendable {
        /// Store the body unchanged after its structure was validated; if `verified`, also decode it.
        case unchanged(verified: Bool)
        /// Store the body unchanged and unchecked.
        case anything
        /// Decode the image, resize it and encode it again.
        case reencoded
    }

    /// Values whose meaning depends on other options.
    struct UnresolvedValues: Equatable, Sendable {
        var raw = false
        var verify = false
        var any = false
    }

    var urls: [String] = []
    /// The file with the list of URLs; `-` is standard input.
    var list: String?
    /// The folder for the files, or the file of a single URL.
    var output: String?
    var given = UnresolvedValues()
    /// The treatment, derived from the given options.
    private(set) var treatment = Treatment.unchanged(verified: false)
    /// The resize step, derived from the given options.
    private(set) var resize: Resize?
    var image = ImageOptions()
    var discards = false
    /// Whether a damaged image is decoded as far as possible.
    var allowsPartialImage = false
    /// Whether progressive previews are stored, too.
    var showsPreviews = false
    /// Whether URLs whose file is in the folder are not requested.
    var skipsExisting = false
    /// Whether files in the folder are replaced only if their images have changed.
    var updates = false
    /// Whether files in the folder are replaced whatever URL they are of.
    var overwrites = false
    var isUnordered = false
    /// The file for the run report.
    var report: String?
    /// The file for the run trace.
    var trace: String?
    /// The file for the HTTP exchanges.
    var har: String?
    /// The expected checksum of the only body.
    var checksum: Checksum?
    var cache = CacheOptions()
    var network = NetworkOptions(concurrency: 16, perHost: 6, retries: 2)

    /// Whether the run is recorded, for a trace, a report or `--verbose`.
    var isRecorded: Bool { trace != nil || report != nil || network.isVerbose }

    /// Whether the report shows thumbnails.
    var wantsThumbnails: Bool { report != nil }

    /// Whether the output for the only URL is written to standard output.
    var writesToStandardOutput: Bool { output == nil && !discards }

    /// Whether a run looks for the files of earlier runs before it requests anything.
    var looksUp: Bool { skipsExisting || updates }

    /// A digest of the options that determine the bytes of a file, equal in every process, or `-` if bodies are stored
    /// unchanged.
    var variant: String {
        guard treatment == .reencoded else { return "-" }
        var parts = [resize.map { "resize \($0.identity)" }, image.page.map { "page \($0)" }]
        parts += image.processors.map { "process \($0.identity)" }
        parts += [
            image.format.map { "as \($0)" }, image.quality.map { "quality \($0)" }, "on \(image.background)",
            image.isProgressive ? "progressive" : nil, image.isLossless ? "lossless" : nil,
            image.keepsMetadata ? "with its metadata" : nil, allowsPartialImage ? "incomplete" : nil,
        ]
        return String(IndexRecord.key(of: parts.compactMap(\.self).joined(separator: "\n")).prefix(16))
    }

    /// Whether there is a single URL, and no list.
    var hasOneURL: Bool { urls.count == 1 && list == nil }

    subscript<Value>(dynamicMember path: WritableKeyPath<ImageOptions, Value>) -> Value {
        get { image[keyPath: path] }
        set { image[keyPath: path] = newValue }
    }

    static let name = "get"

    var command: Command { .get(self) }

    mutating func take(argument: String) throws(UsageError) {
        if argument == "-" { throw UsageError("\"-\" is not a URL. To read URLs from standard input, use -i -.") }
        urls.append(argument)
    }

    mutating func validate(standardOutputIsTerminal: Bool) throws(UsageError) {
        try network.validate()
        try cache.validate()
        resize = try image.resize(maximumPixels: network.limits.maximumPixels)
        treatment = try resolvedTreatment()
        try checkEncoding()
        try checkUse()
        try checkOutput(standardOutputIsTerminal: standardOutputIsTerminal)
    }

    /// Derives the treatment from the given options.
    private func resolvedTreatment() throws(UsageError) -> Treatment {
        if given.any {
            if let other = image.reencodingOption ?? (given.raw ? "--raw" : given.verify ? "--verify" : nil) {
                throw UsageError("--any and \(other) cannot be combined: --any stores bodies unchecked.")
            }
            return .anything
        }
        guard let option = image.reencodingOption else { return .unchanged(verified: given.verify) }
        if given.raw { throw UsageError("--raw and \(option) cannot be combined: --raw stores images unchanged.") }
        return .reencoded
    }

    private func checkEncoding() throws(UsageError) {
        try image.checkEncoding()
        if image.keepsMetadata, given.raw || given.any {
            throw UsageError(
                "--keep-metadata and \(given.raw ? "--raw" : "--any") cannot be combined: all bytes are stored unchanged."
            )
        }
    }

    private func checkUse() throws(UsageError) {
        if checksum != nil {
            if list != nil || urls.count > 1 { throw UsageError("--checksum requires a single URL, without -i.") }
            if let option = image.reencodingOption {
                throw UsageError("--checksum and \(option) cannot be combined: \(option) re-encodes the image.")
            }
        }
        if allowsPartialImage, treatment != .reencoded {
            throw UsageError(
                "--incomplete requires an option that re-encodes the image, such as --format, --size or --process.")
        }
        if showsPreviews, output == nil || discards {
            throw UsageError("--previews requires -o DIR, without --discard.")
        }
        if showsPreviews, treatment == .anything {
            throw UsageError("--any and --previews cannot be combined: --any stores bodies unchecked.")
        }
        if urls.isEmpty && list == nil {
            throw UsageError("No URL given. Specify at least one URL, or a list with -i FILE.")
        }
    }

    private func checkOutput(standardOutputIsTerminal: Bool) throws(UsageError) {
        let given = [
            (skipsExisting, "--skip-existing", "does not request existing files"),
            (updates, "--update", "replaces only files that have changed"),
            (overwrites, "--overwrite", "replaces all files"),
        ].filter(\.0)
        if given.count > 1 {
            throw UsageError(
                "\(given[0].1) and \(given[1].1) cannot be combined: \(given[0].1) \(given[0].2), and \(given[1].1) "
                    + "\(given[1].2).")
        }
        if discards, !skipsExisting, let option = given.first?.1 {
            throw UsageError("\(option) and --discard cannot be combined: --discard stores no files.")
        }
        guard writesToStandardOutput else { return }
        if let option = given.first?.1 { throw UsageError("\(option) requires -o DIR.") }
        if list != nil {
            throw UsageError("-i requires an output folder. Add -o DIR, or --discard to store nothing.")
        }
        if urls.count > 1 {
            throw UsageError(
                "\(urls.count) URLs require an output folder. Add -o DIR, or --discard to store nothing.")
        }
        if network.json {
            throw UsageError("--json and the image cannot both be written to standard output. Add -o DIR.")
        }
        if standardOutputIsTerminal {
            throw UsageError(
                "Refusing to write image data to a terminal. Use -o DIR, or redirect standard output to a file.")
        }
    }
}
