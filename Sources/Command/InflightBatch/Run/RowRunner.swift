internal import Dispatch
internal import InflightConcurrency
internal import InflightCore
internal import InflightImages
internal import InflightPrograms

/// Where the rows of a ``RowRunner`` come from, and where their images go: to shards, or into the answers of a stream.
protocol RowSink: AnyObject, Sendable {
    /// What is stored of an image.
    associatedtype Stored: Sendable

    /// Whether the next row may be read.
    var wantsRow: Bool { get }
    /// Whether nothing is read or started now. The sink calls ``RowRunner/schedule()`` when that changes.
    var isBlocked: Bool { get }
    /// Reads the next row, and adds it to the runner unless it needs no request. Returns whether to ask again.
    func readRow() throws(BatchFailure) -> Bool
    /// Returns the place of a row that was added to the runner.
    func place(of row: Int) throws(BatchFailure) -> RowPlace
    /// Returns whether a row may start, whose turn has come. If not, ``takeAdmitted(room:)`` returns it later.
    func admit(_ row: Int, since: Duration) throws(BatchFailure) -> Bool
    /// Returns rows that may start now and might not when their turn came, about `room` of them.
    func takeAdmitted(room: Int) -> [(number: Int, since: Duration)]
    /// Returns the closure that stores a row's image, on any thread.
    func store(for row: Int) -> @Sendable (Bytes) throws(BatchFailure) -> Stored
    /// A row that was added to the runner has ended.
    func rowDidEnd(_ row: Int, host: String, _ result: RowResult<Stored>) throws(BatchFailure)
    /// Everything that can be done now has been started.
    func runnerDidRest() throws(BatchFailure)
    /// The runner has stopped, because the run cannot continue.
    func runnerDidFail(_ failure: BatchFailure)
}

/// How a row ended.
struct RowResult<Stored: Sendable>: Sendable {
    enum Outcome: Sendable {
        /// The image, as the sink has stored it, its size in bytes, and what the sidecar says about it.
        case image(Stored, size: Int64, ImageRecord)
        case failure(class: String, message: String)
    }

    var outcome: Outcome
    var receivedBytes: Int64 = 0

    init(_ outcome: Outcome, receivedBytes: Int64 = 0) {
        self.outcome = outcome
        self.receivedBytes = receivedBytes
    }
}

/// The way of a row: its turn, robots.txt, its response, the opt-out, the decode and the encode, and its end.
///
/// The functions are in this order. A row is a sequence of callbacks instead of a task, which would take nearly a tenth
/// of the processor time of a row whose response is 404. Everything happens on the run's serial queue, except making
/// and storing images, which has threads of its own.
// Unchecked: mutable state is accessed only on `queue`.
final class RowRunner<Sink: RowSink>: @unchecked Sendable {
    private typealias Outcome = RowResult<Sink.Stored>.Outcome

    /// A row whose image is being fetched or made.
    private struct Load {
        var host: String
        var start: MonotonicTime
        var task: ImageTask?
    }

    private let configuration: RowConfiguration
    private let pipeline: ImagePipeline
    private let queue: DispatchQueue
    private let threads: WorkerThreads
    private let clock = SystemClock()
    private var epoch: MonotonicTime
    /// The time at which the sink became blocked, while it is. Time stands still for rows that wait for their turn.
    private var blockedAt: Duration?
    private weak var sink: Sink?
    private var hosts: HostSchedule
    private var loads: [Int: Load] = [:]
    /// The number of bytes of bodies that wait for a thread, or of which an image is being made. The engine does not
    /// count them any more.
    private var waitingBytes = 0
    /// The number of images that wait for a thread, or are being made.
    private var pendingImages = 0
    private var timer: (any ScheduledWork)?
    private var isScheduled = false
    private var isStopped = false
    private let cancellation = CancellationToken()
    private var onIdle: (() -> Void)?

    init(_ configuration: RowConfiguration, pipeline: ImagePipeline, queue: DispatchQueue) {
        self.configuration = configuration
        self.pipeline = pipeline
        self.queue = queue
        threads = WorkerThreads(count: configuration.imageThreads, name: "inflight-images")
        hosts = HostSchedule(configuration.schedule)
        epoch = clock.now()
    }

    // MARK: State

    /// The time since the start of the run, without that in which the sink was blocked.
    var now: Duration { blockedAt ?? clock.now() - epoch }

    /// The number of running requests, those for robots.txt included.
    var runningCount: Int { hosts.runningCount }

    /// The requests that have run longest.
    func stragglers(limit: Int) -> [(host: String, duration: Duration)] {
        let now = clock.now()
        return loads.values.sorted { $0.start < $1.start }.prefix(limit).map { ($0.host, now - $0.start) }
    }

    // MARK: Start and end of the run

    func begin(_ sink: Sink) {
        self.sink = sink
        schedule()
    }

    /// Starts nothing any more, and cancels what runs. No row ends any more.
    func stop() {
        isStopped = true
        timer?.cancel()
        cancellation.cancel()
        for load in loads.values { load.task?.cancel() }
        loads = [:]
    }

    /// Calls `body` once on the queue when no thread works on an image any more. Call it after ``stop()``.
    func whenIdle(_ body: @escaping () -> Void) {
        if pendingImages == 0 { body() } else { onIdle = body }
    }

    /// Continues soon, once for all events until then.
    func schedule() {
        dispatchPrecondition(condition: .onQueue(queue))
        guard !isScheduled, !isStopped else { return }
        isScheduled = true
        queue.async { [self] in
            isScheduled = false
            attempt { (sink) throws(BatchFailure) in try advance(sink) }
        }
    }

    private func attempt(_ body: (Sink) throws(BatchFailure) -> Void) {
        guard !isStopped, let sink else { return }
        do throws(BatchFailure) {
            try body(sink)
        } catch {
            guard !isStopped else { return }
            stop()
            sink.runnerDidFail(error)
        }
    }

    // MARK: Turns

    /// Reads rows while they are wanted, and starts those whose turn it is.
    private func advance(_ sink: Sink) throws(BatchFailure) {
        timer?.cancel()
        noteBlocking(sink)
        while !sink.isBlocked, hosts.wantsRows, sink.wantsRow, try sink.readRow() {}
        while !sink.isBlocked, waitingBytes < configuration.maximumWaitingBytes {
            switch hosts.next(at: now) {
            case .start(let row): try start(row, sink)
            case .giveUp(let rows, let host, let message):
                let name = HostSchedule.FailureClass.impatient.rawValue
                for row in rows {
                    try sink.rowDidEnd(row, host: host, RowResult(.failure(class: name, message: message)))
                }
            case .wait(let time):
                if try refill(sink) { continue }
                if let time {
                    timer = clock.schedule(at: epoch + time) { [self] in queue.async { [self] in schedule() } }
                }
                return try sink.runnerDidRest()
            }
        }
        try sink.runnerDidRest()
    }

    private func noteBlocking(_ sink: Sink) {
        if sink.isBlocked {
            blockedAt = now
        } else if let time = blockedAt.take() {
            epoch = epoch + (clock.now() - epoch - time)
        }
    }

    /// Adds a row that was read.
    func add(_ row: Int, _ place: RowPlace) { hosts.add(row, place, at: now) }

    /// Lets the patience of rows with lower numbers count from now on. Before the first call, it counts for all rows
    /// since they were read.
    func countPatience(ofRowsBefore end: Int) { hosts.countPatience(ofRowsBefore: end, at: now) }

    /// Adds a row again that has ended, or that the sink did not admit.
    func addAgain(_ row: Int, since: Duration, _ sink: Sink) throws(BatchFailure) {
        hosts.addAgain(row, try sink.place(of: row), since: since, at: now)
    }

    /// Moves rows into the window that waited outside of it. Returns whether there were any.
    private func refill(_ sink: Sink) throws(BatchFailure) -> Bool {
        let hadSpilled = try hosts.refill(at: now) { (row) throws(BatchFailure) in try sink.place(of: row) }
        let admitted = sink.takeAdmitted(room: hosts.room)
        for row in admitted { try addAgain(row.number, since: row.since, sink) }
        return hadSpilled || !admitted.isEmpty
    }

    // MARK: robots.txt

    private func start(_ row: HostQueue.Row, _ sink: Sink) throws(BatchFailure) {
        guard try sink.admit(row.number, since: row.since) else {
            return hosts.rowDidFinish(row.number, .notSent, at: now)
        }
        try follow(hosts.robotsStep(row.number, at: now), row.number, row.place, sink)
    }

    private func follow(
        _ step: HostSchedule.RobotsStep, _ row: Int, _ place: RowPlace, _ sink: Sink
    ) throws(BatchFailure) {
        switch step {
        case .fetchImage: fetchImage(row, place, sink.store(for: row))
        case .fetchRobots(let authority): fetchRobots(authority)
        case .wait: break
        case .fail(let name, let message):
            try sink.rowDidEnd(row, host: place.host, RowResult(.failure(class: name, message: message)))
        }
    }

    private func fetchRobots(_ authority: String) {
        var request = configuration.request
        request.url = authority + "/robots.txt"
        request.limits.maximumRedirects = RobotsRecord.redirectLimit
        // A server without ranges may send a longer file, of which the beginning is used.
        request.fields["Range"] = "bytes=0-\(RobotsFile.sizeLimit - 1)"
        request.limits.maximumBodyBytes = RobotsFile.transferLimit
        pipeline.loadResponse(request, on: .queue(queue)) { [self] _, result in
            attempt { (sink) throws(BatchFailure) in
                let outcome = RobotsRecord.Outcome(result)
                for (row, place, step) in hosts.robotsDidFinish(outcome, authority: authority, at: now) {
                    try follow(step, row, place, sink)
                }
                schedule()
            }
        }
    }

    // MARK: Fetch

    private func fetchImage(
        _ row: Int, _ place: RowPlace, _ store: @escaping @Sendable (Bytes) throws(BatchFailure) -> Sink.Stored
    ) {
        var request = configuration.request
        request.url = place.url
        request.expectsImage = true
        let start = clock.now()
        let task = pipeline.loadResponse(request, on: .queue(queue)) { [self] _, result in
            guard !isStopped else { return }
            let latency = clock.now() - start
            switch result {
            case .failure(let error): end(row, Self.failure(error), Self.pace(of: error, latency))
            case .success(let response): didReceive(response, row, place, .served(latency: latency), store)
            }
        }
        loads[row] = Load(host: place.host, start: start, task: task)
    }

    private func didReceive(
        _ response: LoadedResponse, _ row: Int, _ place: RowPlace, _ pace: HostPacer.Outcome,
        _ store: @escaping @Sendable (Bytes) throws(BatchFailure) -> Sink.Stored
    ) {
        let size = response.body.count
        if let signal = configuration.optOut?.signal(in: Self.optOutFields(response.head.fields)) {
            let message = "The server opts out of this use: \(signal.rawValue)."
            return end(row, .failure(class: FailureClasses.optOut, message: message), pace, receivedBytes: size)
        }
        loads[row]?.task = nil
        waitingBytes += size
        pendingImages += 1
        threads.run { [self] in
            let result = Result { () throws(BatchFailure) in try made(response, place, store) }
            queue.async { [self] in
                waitingBytes -= size
                pendingImages -= 1
                if pendingImages == 0 { onIdle.take()?() }
                switch result {
                case .success(let outcome): end(row, outcome, pace, receivedBytes: size)
                // No further row can be stored.
                case .failure(let error): attempt { (_) throws(BatchFailure) in throw error }
                }
            }
        }
    }

    private static func optOutFields(_ fields: HTTPFields) -> [(name: String, value: String)] {
        ["x-robots-tag", OptOut.Signal.tdmReservation.rawValue].flatMap { name in
            fields.values(name).map { (name, $0) }
        }
    }

    // MARK: Images

    /// Makes the image of the output, and stores it. Called on a thread for images.
    private func made(
        _ response: LoadedResponse, _ place: RowPlace, _ store: (Bytes) throws(BatchFailure) -> Sink.Stored
    ) throws(BatchFailure) -> Outcome {
        if cancellation.isCancelled { return Self.failure(.cancelled(url: nil, stage: .decode)) }
        let (codecs, body, filter) = (pipeline.codecs, response.body, configuration.filter)
        let sha256 = ContentDigest(of: body)
        if let (name, message) = ImageFilter.failure(of: body, sha256: sha256, expected: place.digests) {
            return .failure(class: name, message: message)
        }
        let image: Bytes
        var record: ImageRecord
        do throws(LoadError) {
            if !response.isDelimited { try codecs.checkEndMarker(of: body) }
            let info = try codecs.validate(body, maximumPixels: configuration.treatment.decoding.maximumPixels)
            if let (name, message) = filter.failure(of: info) { return .failure(class: name, message: message) }
            (image, record) = try treated(body, info, place.boxes)
        } catch {
            return Self.failure(error)
        }
        record.sha256 = sha256
        return .image(try store(image), size: Int64(image.count), record)
    }

    /// Returns the image of the output and what the sidecar says about it, but for the digest.
    ///
    /// Boxes are blurred after the image was resized, and before it is cropped, padded or processed.
    private func treated(
        _ body: Bytes, _ info: ImageInfo, _ boxes: [BlurBox]
    ) throws(LoadError) -> (Bytes, ImageRecord) {
        let (codecs, treatment) = (pipeline.codecs, configuration.treatment)
        let metadata = (try? codecs.metadata(of: body)) ?? ImageMetadata()
        var record = ImageRecord()
        (record.width, record.height) = (info.width, info.height)
        (record.originalWidth, record.originalHeight) = (info.width, info.height)
        record.exif = EXIFText.json(metadata.exif)
        if boxes.isEmpty, treatment.keepsBody(of: info) { return (body, record) }
        var decoding = treatment.decoding
        var blurMemory = 0
        if !boxes.isEmpty {
            let info = try codecs.info(of: body, page: decoding.page)
            decoding.resize = decoding.resize?.whole(sourceWidth: info.width, sourceHeight: info.height)
            let size = decoding.resize.map { ($0.width ?? 0, $0.height ?? 0) } ?? (info.width, info.height)
            blurMemory = size.0 * size.1 * BoxBlur.bytesPerPixel
        }
        let memory = try codecs.memoryNeeded(body, options: decoding) + blurMemory
        // The memory counts until the pixels are released, after the encode.
        return try pipeline.withinDecodeLimits(memory: memory, cancellation: cancellation) {
            [record, decoding] (cancellation) throws(LoadError) in
            var record = record
            var encoding = treatment.encoding
            if treatment.keepsMetadata { encoding.metadata = metadata }
            let made: (file: Bytes, width: Int, height: Int, original: ImageInfo)
            if boxes.isEmpty, treatment.processors.isEmpty {
                made = try codecs.reencode(body, decoding: decoding, encoding: encoding, cancellation: cancellation)
            } else {
                var (pixels, info) = try codecs.decode(body, options: decoding, cancellation: cancellation)
                if !boxes.isEmpty {
                    let blur = BoxBlur(boxes: boxes.map { $0.upright(info.orientation) })
                    pixels = try blur(pixels, cancellation: cancellation)
                    if let resize = treatment.decoding.resize {
                        pixels = pixels.finished(by: resize, sourceWidth: info.width, sourceHeight: info.height)
                    }
                }
                pixels = try pixels.processed(by: treatment.processors, cancellation: cancellation)
                made = (try codecs.encode(pixels, options: encoding), pixels.width, pixels.height, info)
            }
            (record.width, record.height) = (made.width, made.height)
            (record.originalWidth, record.originalHeight) = (made.original.width, made.original.height)
            return (made.file, record)
        }
    }

    // MARK: End of a row

    private func end(_ row: Int, _ outcome: Outcome, _ pace: HostPacer.Outcome, receivedBytes: Int = 0) {
        let host = loads.removeValue(forKey: row)?.host ?? ""
        attempt { (sink) throws(BatchFailure) in
            hosts.rowDidFinish(row, pace, at: now)
            try sink.rowDidEnd(row, host: host, RowResult(outcome, receivedBytes: Int64(receivedBytes)))
            schedule()
        }
    }

    private static func failure(_ error: LoadError) -> Outcome {
        .failure(class: FailureClasses.name(error), message: OptionNames.batch.message(error.message))
    }

    private static func pace(of error: LoadError, _ latency: Duration) -> HostPacer.Outcome {
        guard let status = error.status else { return .failed }
        guard status == 429 || status == 503 else { return .served(latency: latency) }
        return .throttled(retryAfter: (error.underlying as? RequestedPause)?.duration)
    }
}

extension RobotsRecord.Outcome {
    /// Creates the outcome of a load of robots.txt.
    fileprivate init(_ result: Result<LoadedResponse, LoadError>) {
        switch result {
        case .success(let response):
            let body = response.body.part(0..<min(response.body.count, RobotsFile.sizeLimit)).array
            self = .response(status: 200, body: body, isTruncated: body.count == RobotsFile.sizeLimit)
        case .failure(let error) where error.code == .badStatus || error.code == .badRedirect:
            self = .response(status: error.status ?? 310, body: [])
        case .failure(let error): self = .networkError(error)
        }
    }
}

/// EXIF fields as img2dataset writes them: text that is a JSON object of names and texts.
private enum EXIFText {
    static func json(_ exif: EXIF?) -> String {
        var json = JSONWriter(.required)
        var names: Set<String> = []
        for field in exif?.fields ?? [] {
            guard let value = text(field.value), names.insert(field.name).inserted else { continue }
            json.add(field.name, value)
        }
        return String(decoding: json.object, as: UTF8.self)
    }

    /// Data of undefined type is left out.
    private static func text(_ value: EXIF.Value) -> String? {
        switch value {
        case .text(let text): text
        case .numbers(let numbers): numbers.map { number($0) }.joined(separator: ", ")
        case .fractions(let fractions): fractions.map { "\($0.numerator)/\($0.denominator)" }.joined(separator: ", ")
        case .bytes: nil
        }
    }

    private static func number(_ value: Double) -> String { Int64(exactly: value).map { "\($0)" } ?? "\(value)" }
}
