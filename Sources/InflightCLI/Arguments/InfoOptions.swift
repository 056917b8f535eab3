/// What `inflight info` was asked to do.
struct InfoOptions: Equatable, Sendable {
    /// URLs and paths, in the order of asking.
    var places: [String] = []
    /// Whether each picture is decoded, to say what stands for it until it is there.
    var wantsPlaceholder = false
    /// Whether the whole of each is read, for what it says beside its pixels.
    var wantsMetadata = false
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
            case .option(let name, let attached):
                guard try options.network.take(name, attached: attached, from: &reader) else {
                    throw ArgumentReader.unknown(name, known: ["--placeholder", "--exif"] + NetworkOptions.names)
                }
            }
        }
        try options.network.check()
        if options.places.isEmpty { throw UsageError("Give at least one URL or file.") }
        return .info(options)
    }
}
