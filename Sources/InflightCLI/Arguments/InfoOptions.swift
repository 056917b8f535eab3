/// What `inflight info` was asked to do.
struct InfoOptions: Equatable, Sendable {
    /// URLs and paths, in the order of asking.
    var places: [String] = []
    /// Whether each picture is decoded, to say what stands for it until it is there.
    var wantsPlaceholder = false
    /// Whether the whole of each is read, for what it says beside its pixels.
    var wantsMetadata = false
    /// Which page, from 0; `nil`: the first, of which a part of the file tells.
    var page: Int?
    /// Whether it is asked what can be done here, and not what pictures are.
    var wantsFormats = false
    var network = NetworkOptions()

    static func parse(_ reader: inout ArgumentReader) throws(UsageError) -> Command {
        var options = InfoOptions()
        while let item = reader.next() {
            switch item {
            case .positional(let place):
                if place.isEmpty { throw UsageError("\"\" is neither a URL nor a file.") }
                options.places.append(place)
            case .option("--help", _), .option("-h", _):
                return .help(.info)
            case .option("--version", _):
                return .version
            case .option("--placeholder", let attached):
                try reader.expectNoValue(of: "--placeholder", attached: attached)
                options.wantsPlaceholder = true
            case .option("--exif", let attached):
                try reader.expectNoValue(of: "--exif", attached: attached)
                options.wantsMetadata = true
            case .option("--page", let attached):
                options.page = try OptionValue.page(
                    try reader.value(of: "--page", attached: attached, "a number from 1"), of: "--page")
            case .option("--formats", let attached):
                try reader.expectNoValue(of: "--formats", attached: attached)
                options.wantsFormats = true
            case .option(let name, let attached):
                guard try options.network.take(name, attached: attached, from: &reader) else {
                    throw ArgumentReader.unknown(
                        name, known: ["--placeholder", "--exif", "--page", "--formats"] + NetworkOptions.names)
                }
            }
        }
        try options.network.check()
        if options.wantsFormats {
            guard options.places.isEmpty, !options.wantsPlaceholder, !options.wantsMetadata,
                options.page == nil
            else {
                throw UsageError("--formats says what can be done here, and looks at no picture: ask for either.")
            }
        } else if options.places.isEmpty {
            throw UsageError("Give at least one URL or file.")
        }
        return .info(options)
    }
}
