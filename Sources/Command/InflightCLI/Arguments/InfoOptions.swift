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
        if argument.isEmpty { throw UsageError("\"\" is neither a URL nor a file.") }
        places.append(argument)
    }

    func settle(standardOutputIsTerminal: Bool) throws(UsageError) {
        try network.settle()
        if wantsFormats {
            guard places.isEmpty, !wantsPlaceholder, !wantsMetadata, page == nil else {
                throw UsageError("--formats says what can be done here, and looks at no image: ask for either.")
            }
        } else if places.isEmpty {
            throw UsageError("Give at least one URL or file.")
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
                        """
                        which formats are decoded, animated and encoded here, by which library and where, and what is \
                        missing for others
                        """, \.wantsFormats),
                    Option(
                        "--placeholder",
                        "decode it, and print its placeholders: BlurHash, ThumbHash, and its main colour",
                        \.wantsPlaceholder),
                    Option(
                        "--exif", "what it says of the camera, the time and the place; reads the whole file",
                        \.wantsMetadata),
                    Option("--page N", "of a tiff file that has several, from 1; reads the whole file") {
                        $0.page = try $1.page()
                    },
                ]),
            OptionGroup("Limits", NetworkOptions.limitRows.map { $0.of(\.network) }),
            OptionGroup("Network", NetworkOptions.requestRows.map { $0.of(\.network) }),
            OptionGroup("Decoding", NetworkOptions.decodingRows.map { $0.of(\.network) }),
            OptionGroup(
                "Output",
                [
                    Option("--json", "a line of JSON on standard output for each image", \.network.json),
                    Option("--quiet", "say nothing of failures", \.network.isQuiet),
                    Option("--verbose", "say how much was read, and from where", \.network.isVerbose),
                ]),
        ]
    }

    static let introduction = """
        Prints what an image is, without decoding it: format, dimensions, orientation,
        frames, colour, alpha and bytes; of an animation in a file how long it plays,
        and how often. Of a remote file no more is read than needed, so that an
        animation may have more frames than are counted.

        Usage: inflight info URL-or-FILE… [options]
               inflight info --formats [--json] [--decode WHERE] [--svg]
        """

    static let notes = """
        Exit status: 0 all well, 1 something failed, 64 usage error, 66 the certificates
        cannot be read.

        Examples:
          inflight info cat.jpg
          inflight info --json https://example.org/cat.jpg
          inflight info --formats
        """
}
