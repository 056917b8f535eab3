import Inflight
import InflightConcurrency
import InflightCore
import InflightTestSupport

@testable import InflightBatch

/// A server, an input and an output folder for runs over real sockets.
final class BatchWorld: Sendable {
    let directory = TemporaryDirectory()
    let server: LoopbackServer
    let events = Guarded<[BatchEvent]>([])
    /// The names in the output folder when the last run told its end.
    let namesAtEnd = Guarded<[String]>([])

    var folder: String { directory.appending("out") }

    init() throws { server = try LoopbackServer() }

    /// Serves an image of `width` × 8 pixels, different for each seed.
    func serveImage(_ path: String, width: Int = 16, seed: Int = 0, fields: [(String, String)] = []) {
        var response = LoopbackServer.Response.ok(Self.image(width: width, seed: seed), type: "image/png")
        for (name, value) in fields { response = response.field(name, value) }
        server.serve(path, response)
    }

    static func image(width: Int, seed: Int) -> Bytes {
        let pixels = unsafe PixelBuffer(width: width, height: 8, format: .rgbx) { memory in
            for index in 0..<(width * 8) {
                for channel in 0..<3 {
                    unsafe memory[index * 4 + channel] = UInt8((index * 7 + seed * 31 + channel) & 255)
                }
                unsafe memory[index * 4 + 3] = 255
            }
        }
        guard let bytes = try? codecs.encode(pixels, options: EncodeOptions(format: .png)) else {
            preconditionFailure("a PNG file can be encoded")
        }
        return bytes
    }

    static let codecs = ImagePipeline.Configuration(decoding: .inProcess).codecs

    /// Writes an input of one URL per line and returns the configuration of a run over it.
    func configuration(_ lines: [String], name: String = "in.txt", shardSize: Int = 4) throws -> BatchConfiguration {
        directory.write(name, lines.map { $0 + "\n" }.joined())
        return try configuration(reading: name, shardSize: shardSize)
    }

    func configuration(reading name: String, shardSize: Int = 4) throws -> BatchConfiguration {
        var configuration = BatchConfiguration(
            folder: folder, inputs: try InputSource.expanding([directory.appending(name)]),
            rows: RowConfiguration(treatment: ImageTreatment(encoding: EncodeOptions(format: .png))))
        configuration.shardSize = shardSize
        configuration.outputOptions = ["layout": "webdataset", "format": "png", "captions": "no"]
        return configuration
    }

    /// Runs to the end, or until `stops` returns true for an event, on an engine that `change` has configured.
    func run(
        _ configuration: BatchConfiguration, stops: @escaping @Sendable (BatchEvent) -> Bool = { _ in false },
        change: (inout ImagePipeline.Configuration) -> Void = { _ in }
    ) async throws -> BatchEnding {
        var engine = ImagePipeline.Configuration(decoding: .inProcess)
        engine.memoryCache = MemoryCacheConfiguration(limit: 0, reactsToMemoryPressure: false)
        engine.retry = nil
        engine.circuitBreaker = nil
        engine.maximumConcurrentFetches = 300
        change(&engine)
        let pipeline = try ImagePipeline(configuration: engine)
        events.withLock { $0 = [] }
        let bridge = ValueBridge<BatchEnding>()
        let running = Guarded<BatchRun?>(nil)
        let run = try BatchRun(configuration, pipeline: pipeline) { [events] event in
            events.withLock { $0.append(event) }
            if stops(event) { running.withLock { $0 }?.stop() }
        }
        running.withLock { $0 = run }
        run.start { [namesAtEnd] ending in
            namesAtEnd.withLock { $0 = TemporaryDirectory.names(configuration.folder) }
            bridge.open(with: ending)
        }
        let ending = await bridge.value()
        running.withLock { $0 = nil }
        await pipeline.shutdown(.cancel)
        return ending
    }

    /// The rows of a finished shard as text: key, status and width of the image.
    func rows(of shard: Int, _ configuration: BatchConfiguration) throws -> [String] {
        var rows: [String] = []
        let reader = try ShardReader(shard, writer(configuration))
        try reader.rows { (_, row) throws(BatchFailure) in
            let width = row.image.width.map { " \($0)" } ?? ""
            rows.append("\(row.key) \(row.status.rawValue)\(width)")
            if row.status == .success {
                let bytes = Bytes(try reader.image(row).bytes())
                if (try? Self.codecs.info(of: bytes))?.width != row.image.width { rows.append("another image") }
            }
        }
        return rows
    }

    func writer(_ configuration: BatchConfiguration) throws -> ShardWriter.Configuration {
        guard let layout = ShardLayout(shardSize: configuration.shardSize, part: configuration.part) else {
            preconditionFailure("an invalid shard size")
        }
        return ShardWriter.Configuration(
            folder: configuration.folder, layout: layout, form: configuration.form, schema: SidecarSchema(),
            imageExtension: .fixed("png"), hasCaptions: configuration.columns.captionColumn != nil)
    }

    /// The numbers of rows by the kind of their end, of the last run.
    var ends: [String: Int] {
        var counts: [String: Int] = [:]
        for case .rowEnded(let end) in events.withLock(\.self) {
            switch end.kind {
            case .success: counts["success", default: 0] += 1
            case .duplicate: counts["duplicate", default: 0] += 1
            case .failure(let name): counts[name, default: 0] += 1
            }
        }
        return counts
    }

    /// The files of the output that must be equal in equal runs.
    func output(_ folder: String) -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        let directory = TemporaryDirectory.names(folder)
        for name in directory where name.hasSuffix(".tar") || name.hasSuffix(".zst") {
            files[name] = TemporaryDirectory.read(folder + "/" + name)
        }
        return files
    }
}

extension BatchEnding {
    var isFinished: Bool { if case .finished = self { true } else { false } }
    var isStopped: Bool { if case .stopped = self { true } else { false } }
    var message: String { if case .failed(let failure) = self { "\(failure)" } else { "\(self)" } }
}
