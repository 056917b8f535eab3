internal import CInflightBatch
internal import Dispatch
internal import Glibc
internal import InflightConcurrency
package import InflightCore
internal import InflightFiles
internal import InflightPrograms

/// What a run of `inflight batch --stream` is told.
package struct StreamConfiguration: Sendable {
    /// How a body becomes an image.
    package var treatment: ImageTreatment
    /// The request of each row, without its URL.
    package var request = ImageRequest("")
    /// The window of waiting rows, and the pace of hosts.
    package var queue = HostQueue<BatchMachine<Int>.Row>.Configuration()
    /// How robots.txt is read, or `nil` if it is ignored.
    package var robots: RobotsRecord.Configuration?
    /// The rule by which servers opt out, or `nil` if it is ignored.
    package var optOut: OptOut?
    /// The maximum number of concurrent requests.
    package var maximumRequests = 256
    /// The number of bytes of bodies that wait for a thread above which no request is started.
    package var maximumWaitingBytes = 64 << 20
    /// The number of threads that decode and encode.
    package var imageThreads = 2
    /// The folder for the images; if `nil`, the answers contain them.
    package var files: String?

    /// Creates a configuration with defaults for everything else.
    package init(treatment: ImageTreatment) { self.treatment = treatment }
}

/// How a stream ended.
package enum StreamEnding: Sendable {
    /// The input has ended, and every row is answered.
    case finished
    /// The stream was stopped.
    case stopped
    /// The reader of the output has closed it.
    case outputClosed
    /// The stream could not continue.
    case failed(BatchFailure)
}

/// A run that reads rows as JSON Lines and answers each by one line, in any order: `Documentation/StreamProtocol.md`.
///
/// Stops reading while the window is full, or while its reader does not take the answers. Rows have the pace of their
/// hosts, as in ``BatchRun``; nothing is recorded.
// Unchecked: mutable state is accessed only on `queue`, or before the run starts.
package final class StreamRun: @unchecked Sendable {
    /// The version of the protocol.
    package static let protocolVersion = 1
    /// The maximum length of a line of the input, in bytes.
    private static let lineLimit = 1 << 20
    /// The number of bytes of answers that wait to be written above which nothing is read or started.
    private static let outputLimit = 16 << 20

    private static let missingID = LoadError(
        .invalidRequest, stage: .request, message: "The row has no member 'id'. Add one, as a string.")

    private struct Row {
        var url: String
        var place: BatchMachine<Int>.Place
    }

    private let configuration: StreamConfiguration
    private let version: String
    private let input: Int32
    private let output: Int32
    private let queue = DispatchQueue(label: "inflight.stream")
    private let writer = WorkerThreads(count: 1, name: "inflight-output")
    private let driver: RowDriver<StreamRun>
    private var feed: InputFeed?
    private var items: ArraySlice<InputFeed.Item> = []
    private var rows: [Int: Row] = [:]
    private var answers: [Int: StreamAnswer] = [:]
    private var rowCount = 0
    private var waitingOutput = 0
    private var onEnd: (@Sendable (StreamEnding) -> Void)?

    /// Creates a stream.
    ///
    /// - Parameters:
    ///   - pipeline: Fetches and decodes. The stream does not shut it down.
    ///   - input: The descriptor of the rows.
    ///   - output: The descriptor of the answers.
    ///   - version: The version of the program, for the first line.
    package init(
        _ configuration: StreamConfiguration, pipeline: ImagePipeline, input: Int32 = 0, output: Int32 = 1,
        version: String
    ) {
        self.configuration = configuration
        self.version = version
        self.input = input
        self.output = output
        // Each row is a shard of its own: its assembly is its answer.
        guard let layout = ShardLayout(shardSize: 1) else { preconditionFailure("a shard of one row is valid") }
        let window = configuration.queue.capacity + configuration.maximumRequests
        var machine = BatchMachine<Int>.Configuration(
            assembler: .init(layout: layout, stagingLimit: .max, openShardLimit: window), robots: configuration.robots)
        machine.queue = configuration.queue
        machine.maximumRequests = configuration.maximumRequests
        driver = RowDriver(
            BatchMachine(machine),
            ImageFetcher(
                pipeline, request: configuration.request, treatment: configuration.treatment,
                optOut: configuration.optOut, queue: queue, threads: configuration.imageThreads),
            queue: queue, maximumWaitingBytes: configuration.maximumWaitingBytes)
    }

    /// Starts the stream. `onEnd` is called once, on the stream's queue.
    package func start(onEnd: @escaping @Sendable (StreamEnding) -> Void) {
        queue.async { [self] in
            self.onEnd = onEnd
            var json = JSONWriter(.required)
            json.add("protocol", Self.protocolVersion)
            json.add("version", version)
            write(json.object)
            let feed = InputFeed(queue: queue) { [self] in driver.schedule() }
            self.feed = feed
            var options = InputOptions()
            options.idColumn = "id"
            options.rowLimit = Self.lineLimit
            feed.start([InputSource(path: nil, format: .jsonLines)], options: options, standardInput: input)
            driver.begin(self)
        }
    }

    /// Stops the stream. Any thread may call it.
    package func stop() { queue.async { [self] in end(.stopped) } }

    private func end(_ ending: StreamEnding) {
        guard let onEnd else { return }
        self.onEnd = nil
        driver.stop()
        feed?.stop()
        feed = nil
        onEnd(ending)
    }

    // MARK: Answers

    private func answer(_ row: Int) throws(BatchFailure) {
        if let answer = answers.removeValue(forKey: row) { write(answer.json) }
        rows[row] = nil
        try driver.perform { (machine) throws(BatchMachine<Int>.Failure) in try machine.shardDidAssemble(row) }
        driver.schedule()
    }

    private func write(_ line: [UInt8]) {
        let bytes = line + [UInt8(ascii: "\n")]
        waitingOutput += bytes.count
        writer.run { [self] in
            let failure = Self.write(bytes, to: output)
            queue.async { [self] in
                waitingOutput -= bytes.count
                if failure != 0 {
                    end(
                        failure == EPIPE
                            ? .outputClosed : .failed(.output(OutputError(.write, "standard output", failure))))
                } else if waitingOutput < Self.outputLimit {
                    driver.schedule()
                }
            }
        }
    }

    /// Returns 0, or the system's error number.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        do {
            try FileDescriptor(descriptor).write(bytes)
            return 0
        } catch {
            return error.code
        }
    }
}

extension StreamRun: RowDriverDelegate {
    var isBlocked: Bool { waitingOutput >= Self.outputLimit }

    func readRow() throws(BatchFailure) -> Bool {
        if items.isEmpty { items = (feed?.take() ?? [])[...] }
        guard let item = items.popFirst() else { return false }
        switch item {
        case .failed(let failure):
            guard case .empty = failure.error else { throw .input(failure) }
            fallthrough
        case .ended:
            try driver.perform { (machine) throws(BatchMachine<Int>.Failure) in try machine.inputDidEnd() }
            return false
        case .reject(let reject, _, _):
            write(StreamAnswer(rejected: reject).json)
        case .row(let row, _, _, let place):
            let number = rowCount
            rowCount += 1
            var answer = StreamAnswer(id: row.id, line: row.line)
            switch row.id == nil ? .failure(Self.missingID) : place {
            case .success(let place):
                answers[number] = answer
                rows[number] = Row(url: row.url, place: place)
                try driver.perform { (machine) throws(BatchMachine<Int>.Failure) in
                    try machine.rowWasRead(number, place, at: driver.now)
                }
            case .failure(let error):
                if row.id == nil || row.url.isEmpty { answer.status = "rejected" }
                answer.fail(FailureClasses.name(error), error.message)
                answers[number] = answer
                try driver.perform { (machine) throws(BatchMachine<Int>.Failure) in
                    try machine.rowWasRead(
                        number, outcome: .failure(class: FailureClasses.name(error), message: ""), isRecorded: true)
                }
            }
        }
        return true
    }

    func url(of row: Int) throws(BatchFailure) -> (String, BatchMachine<Int>.Place) {
        guard let found = rows[row] else { throw .inconsistent("row \(row) is not stored") }
        return (found.url, found.place)
    }

    func store(for row: Int) -> @Sendable (Bytes) throws(OutputError) -> [UInt8] {
        guard let files = configuration.files else {
            return { image throws(OutputError) in Self.base64(image) }
        }
        let name = "\(row).\(configuration.treatment.fileExtension)"
        return { image throws(OutputError) in
            let file = try OutputFile(files + "/" + name)
            try file.append(image.array)
            try file.commit(synchronizes: false)
            return Array(name.utf8)
        }
    }

    func rowDidFetch(
        _ row: Int, host: String, _ end: ImageFetcher.End<[UInt8]>
    ) throws(BatchFailure) -> RowOutcome<Int> {
        switch end.result {
        case .image(let value, let size, let image):
            answers[row]?.succeed(value, size, image, configuration)
            return .success(StagedSample(imageSize: 0, token: row))
        case .failure(let name, let message):
            answers[row]?.fail(name, message)
            return .failure(class: name, message: "")
        case .notStored(let error): throw .output(error)
        }
    }

    func rowDidEnd(_ row: Int, _ outcome: RowOutcome<Int>) throws(BatchFailure) {
        if case .failure(let name, let message) = outcome { answers[row]?.fail(name, message) }
    }

    func assemble(_ shard: Int, _ rows: Range<Int>, _ outcomes: [AssembledOutcome<Int>]) throws(BatchFailure) {
        try answer(shard)
    }

    func discard(_ shard: Int) {}

    func driverDidRest() throws(BatchFailure) {
        if driver.ask({ $0.isFinished }), waitingOutput == 0 { end(.finished) }
    }

    func driverDidFail(_ failure: BatchFailure) { end(.failed(failure)) }

    private static func base64(_ image: Bytes) -> [UInt8] {
        let count = (image.count + 2) / 3 * 4
        return unsafe [UInt8](unsafeUninitializedCapacity: count + 1) { text, length in
            length = unsafe image.withUnsafeBytes { bytes in
                guard let base = text.baseAddress, let count = Int32(exactly: bytes.count) else { return 0 }
                return unsafe Int(inflight_base64(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), count, base))
            }
        }
    }
}

/// One answer of a stream. All have the same members.
private struct StreamAnswer {
    var id: String?
    var line: Int
    var status = "failed_to_download"
    var failureClass: String?
    var message: String?
    var image = ImageRecord()
    var format: String?
    var size: Int64?
    var data: [UInt8]?
    var file: String?

    init(id: String?, line: Int) {
        self.id = id
        self.line = line
    }

    init(rejected reject: InputReject) {
        self.init(id: nil, line: reject.line)
        status = "rejected"
        (failureClass, message) = ("malformed", reject.reason.description)
    }

    mutating func fail(_ name: String, _ text: String) {
        if FailureClasses.isImageFault(name) { status = "failed_to_resize" }
        (failureClass, message) = (name, text)
    }

    mutating func succeed(_ value: [UInt8], _ size: Int64, _ image: ImageRecord, _ configuration: StreamConfiguration) {
        status = "success"
        self.size = size
        self.image = image
        format = configuration.treatment.encoding.format.rawValue
        if configuration.files == nil { data = value } else { file = String(decoding: value, as: UTF8.self) }
    }

    var json: [UInt8] {
        var json = JSONWriter(.required)
        json.add("id", orNull: id)
        json.add("line", line)
        json.add("status", status)
        json.add("error_class", orNull: failureClass)
        json.add("error_message", orNull: message)
        json.add("is_transient", failureClass.map { FailureClasses.isTransient($0) } ?? false)
        json.add(sizesOf: image)
        json.add("exif", orNull: image.exif)
        json.add("sha256", orNull: image.sha256?.hex)
        json.add("format", orNull: format)
        json.add("size", orNull: size)
        if let data { json.add("data", plain: data) } else { json.addNull("data") }
        json.add("file", orNull: file)
        return json.object
    }
}
