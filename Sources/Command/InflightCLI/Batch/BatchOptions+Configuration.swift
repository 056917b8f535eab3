import Inflight
import InflightBatch
import InflightConcurrency
import InflightCore

extension BatchOptions {
    /// The name by which robots.txt and opt-outs address this program.
    private static let productToken = "inflight"
    /// The number of bytes of coded and decoded bodies that may wait for a thread.
    private static let maximumWaitingBytes = 64 << 20

    /// Returns the configuration of the run.
    func configuration(inputs: [InputSource], folder: String) -> BatchConfiguration {
        var configuration = BatchConfiguration(folder: folder, inputs: inputs, treatment: treatment)
        configuration.columns = columns
        configuration.ownColumns = ownColumns
        configuration.form = form
        configuration.shardSize = shardSize
        configuration.keys = keys
        configuration.part = part
        configuration.division = division
        configuration.deduplicatesContent = deduplicatesContent
        configuration.stagingLimit = stagingLimit
        configuration.maximumRequests = network.concurrency
        setPace(&configuration.queue)
        configuration.robots = robots
        configuration.optOut = optOut
        configuration.request = request
        configuration.imageThreads = MachineSize.processors
        configuration.outputOptions = outputOptions
        configuration.retriedClasses = action == .retry ? retriedClasses : nil
        return configuration
    }

    /// The configuration of a stream.
    var streamConfiguration: StreamConfiguration {
        var configuration = StreamConfiguration(treatment: treatment)
        configuration.request = request
        setPace(&configuration.queue)
        configuration.robots = robots
        configuration.optOut = optOut
        configuration.maximumRequests = network.concurrency
        configuration.imageThreads = MachineSize.processors
        configuration.files = streamFolder
        return configuration
    }

    /// Returns the engine for the run. The run itself bounds and paces requests; it decodes on threads of its own.
    func pipeline() throws(CommandLineTool.Refusal) -> ImagePipeline {
        var network = network
        network.connectsToPublicOnly = !allowsPrivateAddresses
        return try network.pipeline(decodes: false)
    }

    private var treatment: ImageTreatment {
        var decoding = DecodeOptions(resize: resize)
        decoding.page = image.page ?? 0
        decoding.maximumPixels = network.limits.maximumPixels
        decoding.maximumMemory = network.limits.maximumDecodeBytes
        return ImageTreatment(
            decoding: decoding, processors: image.processors, encoding: image.encoding(as: image.format ?? .jpeg),
            keepsMetadata: image.keepsMetadata)
    }

    private var request: ImageRequest {
        var request = ImageRequest("")
        request.limits = network.limits
        request.fields = HTTPFields(network.headers.map { ($0.name, $0.value) })
        return request
    }

    private var robots: RobotsRecord.Configuration? {
        ignoresRobots ? nil : RobotsRecord.Configuration(productToken: Self.productToken)
    }

    private var optOut: OptOut? {
        honoredSignals.isEmpty ? nil : OptOut(honoring: honoredSignals, productToken: Self.productToken)
    }

    private func setPace(_ queue: inout HostQueue<BatchMachine<Int>.Row>.Configuration) {
        queue.patience = hostPatience
        queue.pacer.ceiling = network.perHost
        queue.pacer.initialLimit = network.perHost
        queue.pacer.minimumDelay = delay
    }

    /// The options that affect the output, without defaults: another spelling of the same run has the same.
    private var outputOptions: [String: String] {
        let flags: [(String, Bool)] = [
            ("enlarge", image.enlarges), ("linear", image.isLinear), ("progressive", image.isProgressive),
            ("lossless", image.isLossless), ("keep-metadata", image.keepsMetadata),
            ("captions", columns.captionColumn != nil),
        ]
        let texts: [(String, String?)] = [
            ("layout", Self.forms.first { $0.value == form }?.name), ("format", image.format?.rawValue),
            ("size", image.size.map { "\($0.width.map(String.init) ?? "")x\($0.height.map(String.init) ?? "")" }),
            ("fit", resize.flatMap { $0.fit == .contain ? nil : $0.fit.rawValue }),
            ("crop", resize.flatMap { $0.gravity == .center ? nil : $0.gravity.rawValue }),
            ("page", image.page.flatMap { $0 == 0 ? nil : "\($0 + 1)" }),
            ("process", image.processors.isEmpty ? nil : image.processors.map(\.identity).joined(separator: ",")),
            ("quality", image.quality.map(String.init)),
            ("background", image.background == [255, 255, 255] ? nil : "\(image.background)"),
            ("keys", keys == .position ? nil : keys.rawValue),
            ("url-column", columns.urlColumn == "url" ? nil : columns.urlColumn), ("id-column", columns.idColumn),
            ("caption-column", columns.captionColumn), ("columns", ownColumns?.joined(separator: ",")),
            ("quoting", columns.quoting?.rawValue),
            ("row-limit", columns.rowLimit == InputOptions().rowLimit ? nil : "\(columns.rowLimit)"),
            ("part", part.map { "\($0.number)/\($0.count)" }),
            ("part-by", part == nil || division == .host ? nil : division.rawValue),
            ("dedupe", deduplicatesContent ? "content" : nil),
        ]
        let all = flags.map { ($0, $1 ? "yes" : nil) } + texts
        return Dictionary(uniqueKeysWithValues: all.compactMap { name, value in value.map { (name, $0) } })
    }
}
