internal import CInflightBatch
internal import Dispatch
internal import Glibc
internal import InflightConcurrency
package import InflightCore
internal import InflightFiles
internal import InflightPrograms

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
/// Stops reading while so many rows wait for their answers as the window and the requests hold, or while its reader
/// does not take the answers. Rows have the pace of their hosts, as in ``BatchRun``; nothing is recorded.
// Unchecked: mutable state is accessed only on `queue`, or before the run starts.
package final class StreamRun: @unchecked Sendable {
    /// Where the images are.
    package enum Images: Equatable, Sendable {
        /// In the lines of the answers, as base64. This is version 1 of the protocol.
        case inLines
        /// After the lines, as bytes. This is version 2.
        case afterLines
        /// In files of this folder, in version 1.
        case files(String)
    }

    /// The maximum length of a line of the input, in bytes.
    private static let lineLimit = 1 << 20
    /// The number of bytes of answers that wait to be written above which nothing is read or started.
    private static let outputLimit = 16 << 20

    private static let missingID = LoadError(
        .invalidRequest, stage: .request, message: "The row has no member 'id'. Add one, as a string.")

    private let configuration: RowConfiguration
    private let images: Images
    private let version: String
    private let input: Int32
    private let output: Int32
    private let queue = DispatchQueue(label: "inflight.stream")
    private let writer = WorkerThreads(count: 1, name: "inflight-output")
    private let runner: RowRunner<StreamRun>
    private var feed: InputFeed?
    private var items: ArraySlice<InputFeed.Item> = []
    /// The rows that are not answered.
    private var rows: [Int: (place: RowPlace, answer: StreamAnswer)] = [:]
    private var rowCount = 0
    private var hasReadAll = false
    private var waitingOutput = 0
    private var onEnd: (@Sendable (StreamEnding) -> Void)?

    /// Creates a stream.
    ///
    /// - Parameters:
    ///   - images: Where the images are.
    ///   - pipeline: Fetches and decodes. The stream does not shut it down.
    ///   - input: The descriptor of the rows.
    ///   - output: The descriptor of the answers.
    ///   - version: The version of the program, for the first line.
    package init(
        _ configuration: RowConfiguration, images: Images = .inLines, pipeline: ImagePipeline, input: Int32 = 0,
        output: Int32 = 1, version: String
    ) {
        self.configuration = configuration
        self.images = images
        self.version = version
        self.input = input
        self.output = output
        runner = RowRunner(configuration, pipeline: pipeline, queue: queue)
    }

    private var protocolVersion: Int {
        if case .afterLines = images { 2 } else { 1 }
    }

    /// Starts the stream. `onEnd` is called once, on the stream's queue.
    package func start(onEnd: @escaping @Sendable (StreamEnding) -> Void) {
        queue.async { [self] in
            self.onEnd = onEnd
            var json = JSONWriter(.required)
            json.add("protocol", protocolVersion)
            json.add("version", version)
            write(json.object)
            let feed = InputFeed(queue: queue, hasDigests: false) { [self] in runner.schedule() }
            self.feed = feed
            var options = InputOptions()
            options.idColumn = "id"
            options.rowLimit = Self.lineLimit
            feed.start([InputSource(path: nil, format: .jsonLines)], options: options, standardInput: input)
            runner.begin(self)
        }
    }

    /// Stops the stream. Any thread may call it.
    package func stop() { queue.async { [self] in end(.stopped) } }

    private func end(_ ending: StreamEnding) {
        guard let onEnd else { return }
        self.onEnd = nil
        runner.stop()
        feed?.stop()
        feed = nil
        onEnd(ending)
    }

    // MARK: Answers

    private func write(_ line: [UInt8], image: [UInt8] = []) {
        let bytes = line + [UInt8(ascii: "\n")] + image
        waitingOutput += bytes.count
        writer.run { [self] in
            let failure = Self.write(bytes, to: output)
            queue.async { [self] in
                waitingOutput -= bytes.count
                if failure != 0 {
                    end(
                        failure == EPIPE
                            ? .outputClosed : .failed(.output(.write, "standard output", failure)))
                } else if waitingOutput < Self.outputLimit {
                    runner.schedule()
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

extension StreamRun: RowSink {
    var wantsRow: Bool {
        let schedule = configuration.schedule
        return !hasReadAll && rows.count < max(1, schedule.queue.capacity + schedule.maximumRequests)
    }

    var isBlocked: Bool { waitingOutput >= Self.outputLimit }

    func readRow() throws(BatchFailure) -> Bool {
        if items.isEmpty { items = (feed?.take() ?? [])[...] }
        guard let item = items.popFirst() else { return false }
        switch item {
        case .failed(let failure):
            guard case .input(let input) = failure, case .empty = input.error else { throw failure }
            fallthrough
        case .ended:
            hasReadAll = true
            return false
        case .reject(let reject, _, _): write(StreamAnswer(rejected: reject).json)
        case .row(let row, _, _, let place):
            let number = rowCount
            rowCount += 1
            var answer = StreamAnswer(id: row.id, line: row.line)
            switch row.id == nil ? .failure(Self.missingID) : place {
            case .success(let place):
                rows[number] = (place, answer)
                runner.add(number, place)
            case .failure(let error):
                if row.id == nil || row.url.isEmpty { answer.status = "rejected" }
                answer.fail(FailureClasses.name(error), error.message)
                write(answer.json)
            }
        }
        return true
    }

    func place(of row: Int) throws(BatchFailure) -> RowPlace {
        guard let place = rows[row]?.place else { throw .inconsistent("row \(row) is not stored") }
        return place
    }

    // Every row that was read may start.
    func admit(_ row: Int, since: Duration) -> Bool { true }

    func takeAdmitted(room: Int) -> [(number: Int, since: Duration)] { [] }

    func store(for row: Int) -> @Sendable (Bytes) throws(BatchFailure) -> [UInt8] {
        switch images {
        case .inLines: return { image throws(BatchFailure) in Self.base64(image) }
        case .afterLines: return { image throws(BatchFailure) in image.array }
        case .files(let folder):
            let name = "\(row).\(configuration.treatment.encoding.format.fileExtension)"
            return { image throws(BatchFailure) in
                let file = try OutputFile(folder + "/" + name)
                try file.append(image.array)
                try file.commit(synchronizes: false)
                return Array(name.utf8)
            }
        }
    }

    func rowDidEnd(_ row: Int, host: String, _ result: RowResult<[UInt8]>) {
        guard var answer = rows.removeValue(forKey: row)?.answer else { return }
        var following: [UInt8] = []
        switch result.outcome {
        case .image(let value, let size, let image):
            answer.succeed(size, image, format: configuration.treatment.encoding.format)
            switch images {
            case .inLines: answer.data = value
            case .afterLines: following = value
            case .files: answer.file = String(decoding: value, as: UTF8.self)
            }
        case .failure(let name, let message): answer.fail(name, message)
        }
        write(answer.json, image: following)
    }

    func runnerDidRest() {
        if hasReadAll, rows.isEmpty, waitingOutput == 0 { end(.finished) }
    }

    func runnerDidFail(_ failure: BatchFailure) { end(.failed(failure)) }

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

    mutating func succeed(_ size: Int64, _ image: ImageRecord, format: ImageFormat) {
        status = "success"
        self.size = size
        self.image = image
        self.format = format.rawValue
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
