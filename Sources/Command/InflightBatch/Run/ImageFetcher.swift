internal import Dispatch
internal import InflightConcurrency
internal import InflightCore
internal import InflightImages
internal import InflightPrograms

/// Fetches the images of rows, and makes of each the image of the output, on threads of its own.
///
/// Used on one serial queue, to which everything is delivered.
// Unchecked: mutable state is accessed only on `queue`.
final class ImageFetcher: @unchecked Sendable {
    /// How the fetch of a row ended.
    struct End<Value: Sendable>: Sendable {
        enum Result: Sendable {
            /// The image, as the caller has stored it, its size in bytes, and what the sidecar says about it.
            case image(Value, size: Int64, ImageRecord)
            case failure(class: String, message: String)
            /// The image cannot be stored, so no further row can be.
            case notStored(OutputError)
        }

        var result: Result
        var pace: HostPacer.Outcome
        var receivedBytes: Int64 = 0
    }

    private let pipeline: ImagePipeline
    private let template: ImageRequest
    private let treatment: ImageTreatment
    private let optOut: OptOut?
    private let queue: DispatchQueue
    private let threads: WorkerThreads
    private let clock = SystemClock()
    private let cancellation = CancellationToken()
    private var tasks: [Int: ImageTask] = [:]
    /// The number of bytes of bodies that wait for a thread.
    private(set) var waitingBytes = 0
    /// The number of images that wait for a thread, or are being made.
    private var pendingImages = 0
    private var onIdle: (() -> Void)?

    init(
        _ pipeline: ImagePipeline, request: ImageRequest, treatment: ImageTreatment, optOut: OptOut?,
        queue: DispatchQueue, threads: Int
    ) {
        self.pipeline = pipeline
        self.treatment = treatment
        self.optOut = optOut
        self.queue = queue
        self.threads = WorkerThreads(count: threads, name: "inflight-images")
        template = request
    }

    /// Fetches a row's image.
    ///
    /// - Parameters:
    ///   - store: Stores the image. Called on one of the fetcher's threads.
    ///   - completion: Called once on the queue, unless ``cancelAll()`` was called.
    func fetch<Value: Sendable>(
        _ url: String, row: Int, store: @escaping @Sendable (Bytes) throws(OutputError) -> Value,
        completion: @escaping @Sendable (End<Value>) -> Void
    ) {
        var request = template
        request.url = url
        request.expectsImage = true
        let start = clock.now()
        tasks[row] = pipeline.loadResponse(request, on: .queue(queue)) { [self] _, result in
            tasks[row] = nil
            let latency = clock.now() - start
            switch result {
            case .failure(let error):
                completion(End(result: Self.failure(error), pace: Self.pace(of: error, latency)))
            case .success(let response):
                let received = Int64(response.body.count)
                if let signal = optOut?.signal(in: Self.optOutFields(response.head.fields)) {
                    let message = "The server opts out of this use: \(signal.rawValue)."
                    let result = End<Value>.Result.failure(class: FailureClasses.optOut, message: message)
                    return completion(End(result: result, pace: .served(latency: latency), receivedBytes: received))
                }
                waitingBytes += response.body.count
                pendingImages += 1
                threads.run { [self] in
                    let result = made(response, store)
                    queue.async { [self] in
                        waitingBytes -= response.body.count
                        pendingImages -= 1
                        if pendingImages == 0 { onIdle.take()?() }
                        guard !cancellation.isCancelled else { return }
                        completion(End(result: result, pace: .served(latency: latency), receivedBytes: received))
                    }
                }
            }
        }
    }

    /// Fetches an authority's robots.txt.
    func fetchRobots(
        _ authority: String, completion: @escaping @Sendable (RobotsRecord.Outcome) -> Void
    ) {
        var request = template
        request.url = authority + "/robots.txt"
        request.limits.maximumRedirects = RobotsRecord.redirectLimit
        // A server without ranges may send a longer file, of which the beginning is used.
        request.fields["Range"] = "bytes=0-\(RobotsFile.sizeLimit - 1)"
        request.limits.maximumBodyBytes = Self.robotsLimit
        pipeline.loadResponse(request, on: .queue(queue)) { _, result in
            switch result {
            case .success(let response):
                let body = response.body.part(0..<min(response.body.count, RobotsFile.sizeLimit)).array
                completion(.response(status: 200, body: body, isTruncated: body.count == RobotsFile.sizeLimit))
            case .failure(let error) where error.code == .badStatus || error.code == .badRedirect:
                completion(.response(status: error.status ?? 310, body: []))
            case .failure(let error): completion(.networkError(error))
            }
        }
    }

    private static let robotsLimit: Int64 = 8 << 20

    private static func optOutFields(_ fields: HTTPFields) -> [(name: String, value: String)] {
        ["x-robots-tag", OptOut.Signal.tdmReservation.rawValue].flatMap { name in
            fields.values(name).map { (name, $0) }
        }
    }

    /// Cancels all fetches. No completion is called any more.
    func cancelAll() {
        cancellation.cancel()
        for task in tasks.values { task.cancel() }
        tasks = [:]
    }

    /// Calls `body` once on the queue when no thread works on an image any more. Call it after ``cancelAll()``.
    func whenIdle(_ body: @escaping () -> Void) {
        if pendingImages == 0 { body() } else { onIdle = body }
    }

    // MARK: Images

    private func made<Value>(
        _ response: LoadedResponse, _ store: (Bytes) throws(OutputError) -> Value
    ) -> End<Value>.Result {
        if cancellation.isCancelled { return Self.failure(.cancelled(url: nil, stage: .decode)) }
        let image: Bytes
        let record: ImageRecord
        do throws(LoadError) {
            (image, record) = try encoded(response)
        } catch {
            return Self.failure(error)
        }
        do throws(OutputError) {
            return .image(try store(image), size: Int64(image.count), record)
        } catch {
            return .notStored(error)
        }
    }

    private func encoded(_ response: LoadedResponse) throws(LoadError) -> (Bytes, ImageRecord) {
        let (codecs, body) = (pipeline.codecs, response.body)
        if !response.isDelimited { try codecs.checkEndMarker(of: body) }
        _ = try codecs.validate(body, maximumPixels: treatment.decoding.maximumPixels)
        let memory = try codecs.memoryNeeded(body, options: treatment.decoding)
        // The memory counts until the pixels are released, after the encode.
        return try pipeline.withinDecodeLimits(memory: memory, cancellation: cancellation) {
            (cancellation) throws(LoadError) in try encoded(body, cancellation)
        }
    }

    private func encoded(
        _ body: Bytes, _ cancellation: CancellationFlag
    ) throws(LoadError) -> (Bytes, ImageRecord) {
        let codecs = pipeline.codecs
        var (pixels, info) = try codecs.decode(body, options: treatment.decoding, cancellation: cancellation)
        pixels = try pixels.processed(by: treatment.processors, cancellation: cancellation)
        let metadata = (try? codecs.metadata(of: body)) ?? ImageMetadata()
        var encoding = treatment.encoding
        if treatment.keepsMetadata { encoding.metadata = metadata }
        let image = try codecs.encode(pixels, options: encoding)
        var record = ImageRecord()
        (record.width, record.height) = (pixels.width, pixels.height)
        (record.originalWidth, record.originalHeight) = (info.width, info.height)
        record.exif = EXIFText.json(metadata.exif)
        record.sha256 = ContentDigest(of: body)
        return (image, record)
    }

    private static func failure<Value>(_ error: LoadError) -> End<Value>.Result {
        .failure(class: FailureClasses.name(error), message: OptionNames.batch.message(error.message))
    }

    private static func pace(of error: LoadError, _ latency: Duration) -> HostPacer.Outcome {
        guard let status = error.status else { return .failed }
        guard status == 429 || status == 503 else { return .served(latency: latency) }
        return .throttled(retryAfter: (error.underlying as? RequestedPause)?.duration)
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
