import Inflight
import InflightBatch
import InflightConcurrency
import InflightCore

extension BatchOptions {
    /// The name by which robots.txt and opt-outs address this program.
    private static let productToken = "inflight"

    /// Returns the configuration of the run.
    ///
    /// - Parameter program: The program of `--then`.
    func configuration(
        inputs: [InputSource], folder: String, then program: ThenProgram? = nil
    ) -> BatchConfiguration {
        var configuration = BatchConfiguration(folder: folder, inputs: inputs, rows: rows)
        configuration.columns = columns
        configuration.ownColumns = ownColumns
        configuration.form = form
        configuration.shardSize = shardSize
        configuration.keys = keys
        configuration.part = part
        configuration.division = division
        configuration.deduplicatesContent = deduplicatesContent
        configuration.stagingLimit = stagingLimit
        configuration.outputOptions = outputOptions
        configuration.then = program
        configuration.retriedClasses = action == .retry ? retriedClasses : nil
        return configuration
    }

    /// What a batch and a stream are told about the way of a row.
    var rows: RowConfiguration {
        var rows = RowConfiguration(treatment: treatment)
        rows.filter = filter
        rows.schedule.maximumRequests = network.concurrency
        rows.schedule.queue.patience = hostPatience
        rows.schedule.queue.pacer.ceiling = network.perHost
        rows.schedule.queue.pacer.initialLimit = network.perHost
        rows.schedule.queue.pacer.minimumDelay = delay
        if !ignoresRobots { rows.schedule.robots = RobotsRecord.Configuration(productToken: Self.productToken) }
        if !honoredSignals.isEmpty {
            rows.optOut = OptOut(honoring: honoredSignals, productToken: Self.productToken)
        }
        rows.request.limits = network.limits
        rows.request.fields = HTTPFields(network.headers.map { ($0.name, $0.value) })
        rows.imageThreads = MachineSize.processors
        return rows
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
        var treatment = ImageTreatment(
            decoding: decoding, processors: image.processors, encoding: image.encoding(as: image.format ?? .jpeg),
            keepsMetadata: image.keepsMetadata)
        treatment.keeping = isRaw ? .all : keepsUnchanged ? .unchanged : .none
        return treatment
    }

    private var minimumSize: String? {
        let sides = [filter.minimumWidth, filter.minimumHeight]
        guard sides.contains(where: { $0 > 0 }) else { return nil }
        return sides.map { $0 > 0 ? "\($0)" : "" }.joined(separator: "x")
    }

    /// The options that affect the output, without defaults: another spelling of the same run has the same.
    private var outputOptions: [String: String] {
        let flags: [(String, Bool)] = [
            ("enlarge", image.enlarges), ("keep-smaller", image.keepsSmaller), ("linear", image.isLinear),
            ("progressive", image.isProgressive),
            ("lossless", image.isLossless), ("keep-metadata", image.keepsMetadata),
            ("raw", isRaw), ("raw-if-unchanged", keepsUnchanged), ("captions", columns.captionColumn != nil),
        ]
        let texts: [(String, String?)] = [
            ("layout", Self.forms.first { $0.value == form }?.name), ("format", image.format?.rawValue),
            ("size", resize.map { "\($0.width.map(String.init) ?? "")x\($0.height.map(String.init) ?? "")" }),
            ("fit", resize.flatMap { $0.fit == .contain ? nil : $0.fit.rawValue }),
            ("crop", resize.flatMap { $0.gravity == .center ? nil : $0.gravity.rawValue }),
            ("page", image.page.flatMap { $0 == 0 ? nil : "\($0 + 1)" }),
            ("process", image.processors.isEmpty ? nil : image.processors.map(\.identity).joined(separator: ",")),
            ("quality", image.quality.map(String.init)),
            ("background", image.background == [255, 255, 255] ? nil : "\(image.background)"),
            ("keys", keys == .position ? nil : keys.rawValue),
            ("url-column", columns.urlColumn == "url" ? nil : columns.urlColumn), ("id-column", columns.idColumn),
            ("caption-column", columns.captionColumn), ("columns", ownColumns?.joined(separator: ",")),
            ("quoting", columns.quoting?.rawValue), ("columns-are", columns.columnNames?.joined(separator: ",")),
            ("row-limit", columns.rowLimit == InputOptions().rowLimit ? nil : "\(columns.rowLimit)"),
            ("min-size", minimumSize), ("max-aspect-ratio", filter.maximumAspectRatio.map { "\($0)" }),
            ("sha256-column", columns.digestColumns[.sha256]), ("md5-column", columns.digestColumns[.md5]),
            ("bbox-column", columns.boxColumn),
            ("part", part.map { "\($0.number)/\($0.count)" }),
            ("part-by", part == nil || division == .host ? nil : division.rawValue),
            ("dedupe", deduplicatesContent ? "content" : nil),
        ]
        let all = flags.map { ($0, $1 ? "yes" : nil) } + texts
        return Dictionary(uniqueKeysWithValues: all.compactMap { name, value in value.map { (name, $0) } })
    }
}
