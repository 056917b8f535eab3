import Inflight
import InflightBatch

/// The options of `inflight batch`.
struct BatchOptions: CommandOptions {
    enum Action: String, CaseIterable, Sendable {
        case run, status, retry, verify
    }

    var action = Action.run
    /// The input files and patterns of a run; `-` is standard input.
    var inputs: [String] = []
    /// The folder of the output.
    var folder: String?
    /// Whether rows are read from standard input and answered on standard output.
    var streams = false
    /// Where the images of a stream are.
    var streamImages = StreamRun.Images.inLines
    /// The classes of failures to retry; if empty, all transient ones.
    var retriedClasses: Set<String> = []

    var columns = InputOptions()
    var ownColumns: [String]?
    /// The files whose rows are those of standard input.
    var standardInputParts: [InputSource.Part] = []
    /// The format of all inputs; if `nil`, their names tell it.
    var inputFormat: InputFormat?

    var form = ShardWriter.Form.webdataset
    var shardSize = 10_000
    var keys = BatchConfiguration.Keys.position
    var deduplicatesContent = false
    /// The maximum size of the staged files, in bytes.
    var stagingLimit: Int64 = 8 << 30
    var part: ShardLayout.Part?
    var division = BatchConfiguration.Division.host

    var delay = Duration.zero
    var hostPatience = Duration.seconds(600)
    var ignoresRobots = false
    var honoredSignals = Set(OptOut.Signal.allCases)
    var allowsPrivateAddresses = false

    /// The program that takes over the files of finished shards, as given.
    var then: String?
    /// Whether these files stay in the folder.
    var keepsFiles = false

    /// The share of failed rows, from 0 to 1, above which the run has failed.
    var maximumFailureRate = 1.0
    /// Whether transient failures that remain have an exit status of their own.
    var isStrict = false
    /// The file for the report.
    var report: String?
    /// Whether bodies are stored unchanged.
    var isRaw = false
    /// Whether bodies are stored unchanged that have the format and the size of the output.
    var keepsUnchanged = false
    /// The images that are stored.
    var filter = ImageFilter()
    var image = ImageOptions()
    /// The resize step, derived from the given options.
    private(set) var resize: Resize?
    var network: NetworkOptions = {
        var network = NetworkOptions(concurrency: 256, perHost: 2, retries: 2)
        network.limits.totalTimeout = .seconds(60)
        return network
    }()

    static let name = "batch"

    var command: Command { .batch(self) }

    mutating func take(argument: String) throws(UsageError) {
        if argument.isEmpty { throw UsageError("Empty argument. Expected a file, or -.") }
        if action != .run {
            guard folder == nil else {
                throw UsageError("Unexpected argument \(argument.quoted) after \(action). Specify one folder.")
            }
            folder = try OptionValue("\(action)", [argument]).folder()
        } else if inputs.isEmpty, argument != "run", let action = Action(rawValue: argument) {
            self.action = action
        } else {
            inputs.append(argument)
        }
    }

    mutating func validate(standardOutputIsTerminal: Bool) throws(UsageError) {
        try network.validate()
        resize = try image.resize(maximumPixels: network.limits.maximumPixels)
        try image.checkEncoding()
        try checkRaw()
        if !retriedClasses.isEmpty, action != .retry { throw UsageError("--class can only be used with retry.") }
        if !streams {
            switch streamImages {
            case .files: throw UsageError("--files can only be used with --stream.")
            case .afterLines: throw UsageError("--binary can only be used with --stream.")
            case .inLines: break
            }
        }
        if !standardInputParts.isEmpty, !inputs.contains("-") {
            throw UsageError("--rows-of can only be used with standard input (-).")
        }
        let smallest = max(1, filter.minimumWidth) * max(1, filter.minimumHeight)
        if smallest > network.limits.maximumPixels {
            throw UsageError(
                "--min-size has more than the \(Quantity.grouped(network.limits.maximumPixels)) pixels that --max-pixels "
                    + "allows. No image would be stored.")
        }
        if streams, let function = columns.digestColumns.keys.first {
            throw UsageError("--stream and --\(function.rawValue)-column cannot be combined.")
        }
        try checkBoxes()
        try checkThen()
        if keys == .id, columns.idColumn == nil { throw UsageError("--keys id requires --id-column.") }
        switch action {
        case .run where streams: try checkStream()
        case .run: try checkRun()
        case .status, .verify: try checkReading()
        case .retry: try checkFolder()
        }
    }

    private func checkRun() throws(UsageError) {
        if inputs.isEmpty { throw UsageError("No input given. Specify at least one file, or - for standard input.") }
        if inputs.count(where: { $0 == "-" }) > 1 { throw UsageError("Standard input (-) can be read only once.") }
        if folder == nil { throw UsageError("No output folder given. Specify one with -o DIR.") }
        try checkFormat()
    }

    private func checkStream() throws(UsageError) {
        if !inputs.isEmpty || folder != nil || report != nil || network.json {
            let option = !inputs.isEmpty ? "inputs" : folder != nil ? "-o" : report != nil ? "--report" : "--json"
            throw UsageError(
                "--stream and \(option) cannot be combined: rows are read from standard input and answered on standard "
                    + "output.")
        }
        try checkFormat()
    }

    private func checkRaw() throws(UsageError) {
        guard isRaw else { return }
        let others = [(image.keepsMetadata, "--keep-metadata"), (keepsUnchanged, "--raw-if-unchanged")]
        if let option = image.reencodingOption ?? others.first(where: \.0)?.1 {
            throw UsageError("--raw and \(option) cannot be combined: --raw stores all bodies unchanged.")
        }
        if streams { throw UsageError("--stream and --raw cannot be combined.") }
    }

    private func checkBoxes() throws(UsageError) {
        guard columns.boxColumn != nil else { return }
        let others = [
            (streams, "--stream"), (isRaw, "--raw"), (form == .hashedFiles, "--layout hashed"),
            (deduplicatesContent, "--dedupe content"),
        ]
        guard let option = others.first(where: \.0)?.1 else { return }
        let reason =
            streams ? "" : isRaw ? ": --raw stores all bodies unchanged" : ": equal bodies may have different boxes"
        throw UsageError("--bbox-column and \(option) cannot be combined\(reason).")
    }

    private func checkThen() throws(UsageError) {
        guard then != nil else {
            if keepsFiles { throw UsageError("--keep-local requires --then.") }
            return
        }
        if streams { throw UsageError("--stream and --then cannot be combined.") }
        if form != .webdataset {
            throw UsageError("--then requires --layout webdataset, whose shards are files.")
        }
    }

    private func checkFormat() throws(UsageError) {
        if image.format == nil, !isRaw {
            throw UsageError("No image format given. Specify --format jpeg, png, webp or avif, or --raw.")
        }
    }

    private func checkFolder() throws(UsageError) {
        if folder == nil { throw UsageError("No folder given. Specify the folder of a run: \(action) DIR.") }
        if streams { throw UsageError("--stream and \(action) cannot be combined.") }
    }

    private func checkReading() throws(UsageError) {
        try checkFolder()
        var accepted = Self()
        (accepted.action, accepted.folder) = (action, folder)
        (accepted.network.json, accepted.network.isQuiet) = (network.json, network.isQuiet)
        guard self == accepted else {
            throw UsageError("\(action) can only be combined with --json and --quiet: it reads the folder of a run.")
        }
    }
}
