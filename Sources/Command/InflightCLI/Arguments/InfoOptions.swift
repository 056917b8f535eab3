/// The options of `inflight info`.
struct InfoOptions: CommandOptions {
    /// The URLs and paths, in command-line order.
    var places: [String] = []
    /// Whether to decode each image and print its placeholders.
    var wantsPlaceholder = false
    /// Whether to read each file completely and print its metadata.
    var wantsMetadata = false
    /// The index of the page, from 0; if `nil`, the first one, for which a part of the file is enough.
    var page: Int?
    /// Whether to list the supported formats instead of inspecting images.
    var wantsFormats = false
    var network = NetworkOptions()

    var command: Command { .info(self) }

    mutating func take(argument: String) throws(UsageError) {
        if argument.isEmpty { throw UsageError("Empty argument. Expected a URL or a file.") }
        places.append(argument)
    }

    func validate(standardOutputIsTerminal: Bool) throws(UsageError) {
        try network.validate()
        if wantsFormats {
            guard places.isEmpty, !wantsPlaceholder, !wantsMetadata, page == nil else {
                throw UsageError("--formats cannot be combined with URLs, files, --placeholder, --exif or --page.")
            }
        } else if places.isEmpty {
            throw UsageError("No image given. Specify at least one URL or file.")
        }
    }

    static let name = "info"

    static var table: [OptionGroup<Self>] {
        [
            OptionGroup(
                "Options",
                [
                    Option(
                        "--formats",
                        "list the formats decoded, animated and encoded here, their libraries, and missing packages",
                        \.wantsFormats),
                    Option(
                        "--placeholder",
                        "decode, and print BlurHash, ThumbHash and main colour",
                        \.wantsPlaceholder),
                    Option(
                        "--exif", "print camera, time and location; reads the whole file",
                        \.wantsMetadata),
                    Option("--page N", "inspect page N of a TIFF file, from 1 (default 1); reads the whole file") {
                        $0.page = try $1.page()
                    },
                ]),
            OptionGroup("Limits", NetworkOptions.limitRows().map { $0.of(\.network) }),
            OptionGroup("Network", NetworkOptions.requestRows.map { $0.of(\.network) }),
            OptionGroup("Decoding", NetworkOptions.decodingRows.map { $0.of(\.network) }),
            OptionGroup(
                "Output",
                [
                    Option("--json", "print one line of JSON for each image", \.network.json),
                    Option("--quiet", "do not print failures", \.network.isQuiet),
                    Option("--verbose", "print how many bytes were read, and from where", \.network.isVerbose),
                ]),
        ]
    }

    static let manual = CommandManual(
        summary: "print format and dimensions, without decoding",
        arguments: "URL-or-FILE…",
        suggestion: .file,
        usage: ["URL-or-FILE… [options]", "--formats [--json] [--decode WHERE] [--svg]"],
        introduction: """
            Prints format, dimensions, orientation, frames, colour, alpha and bytes of
            images without decoding them, and duration and loop count of local animations.
            Reads only as much of a remote file as needed, so an animation may have more
            frames than reported.
            """,
        noInput: "the certificates cannot be read",
        environment: CommandManual.loadingVariables,
        examples: [
            "inflight info cat.jpg",
            "inflight info --json https://example.org/cat.jpg",
            "inflight info --formats",
        ])
}
