import Inflight
import InflightConcurrency
import InflightCore

/// Processes a body before it is reported: inspects, verifies, encodes and writes it, on the run's own threads.
///
/// A class, because every load's closure refers to it.
final class BodyProcessor: Sendable {
    /// A processed body. A class, because it is passed from state to state until its file has a name.
    final class ProcessedBody: Sendable {
        let report: Report
        let kind: BodyKind
        /// The file, written under a hidden name; `nil` if nothing is stored.
        let draft: FileStore.Draft?
        let writtenBytes: Int64
        /// The steps and their durations, if the run is recorded.
        let work: [ProcessingStep]
        /// The source for a thumbnail, if one is requested.
        let subject: ThumbnailSubject?
        /// The validator of the response, if a later run may use it.
        let validator: Validator?

        init(
            _ report: Report, _ kind: BodyKind, draft: FileStore.Draft? = nil, writtenBytes: Int64 = 0,
            work: [ProcessingStep] = [], subject: ThumbnailSubject? = nil, validator: Validator? = nil
        ) {
            self.report = report
            self.kind = kind
            self.draft = draft
            self.writtenBytes = writtenBytes
            self.work = work
            self.subject = subject
            self.validator = validator
        }
    }

    /// The result of a load.
    enum Loaded: Sendable {
        case response(LoadedResponse)
        case image(LoadedImage)
    }

    /// The facts about an item that its processing needs.
    struct Target: Sendable {
        var url: ResourceURL
        /// The name of the file that is kept if the body is equal to it.
        var current: String?
        var validator: Validator?
    }

    /// The output directory; `nil` if nothing is stored, or if the output goes to standard output.
    let store: FileStore?
    private let options: GetOptions
    private let pipeline: ImagePipeline
    /// Set when the run ends early.
    private let cancellation: CancellationToken
    /// Set with ``cancellation``.
    private let isCancelled = CancellationFlag()
    /// Whether the steps are timed.
    private let isRecorded: Bool
    private let clock = SystemClock()

    private var codecs: CodecRegistry { pipeline.codecs }

    init(
        options: GetOptions, pipeline: ImagePipeline, store: FileStore?, cancellation: CancellationToken,
        isRecorded: Bool
    ) {
        self.options = options
        self.pipeline = pipeline
        self.store = store
        self.cancellation = cancellation
        self.isRecorded = isRecorded
        cancellation.onCancel { [isCancelled] in isCancelled.cancel() }
    }

    /// The size in bytes above which a body takes long to check and to write.
    private static let mostQuickBytes = 1 << 20

    /// Returns whether processing may take long: it decodes or encodes, waits for a reader, or the body is large.
    func isSlow(_ loaded: Loaded) -> Bool {
        guard case .response(let response) = loaded else { return true }
        if case .unchanged(verified: true) = options.treatment, !response.isVerified { return true }
        return options.writesToStandardOutput || response.body.count > Self.mostQuickBytes
    }

    /// Processes the result of a load.
    ///
    /// - Parameter current: The name of the file that is kept if the body is equal to it.
    func process(_ loaded: Loaded, of url: ResourceURL, current: String?) throws(LoadError) -> ProcessedBody {
        try checkNotCancelled()
        var target = Target(url: url, current: current)
        // A validator counts only at the URL where it was received, which redirects may change.
        switch loaded {
        case .response(let response):
            if response.redirectCount == 0 { target.validator = Validator(of: response.head.fields) }
            return try keep(response, target)
        case .image(let image):
            if image.url == url.string { target.validator = Validator(of: image.head.fields) }
            return try reencode(image, target)
        }
    }

    /// Stores a body unchanged.
    private func keep(_ response: LoadedResponse, _ target: Target) throws(LoadError) -> ProcessedBody {
        var report = Report(
            outcome: .ok, bytes: Int64(response.body.count), wireBytes: response.wireBytes,
            status: response.head.version == .none ? nil : response.head.status, from: response.source,
            finalURL: response.redirectCount > 0 ? response.url : nil)
        guard case .unchanged(let verified) = options.treatment else {
            return try store(
                response.body, report, .unknown(mediaType: response.head.fields["content-type"]), target)
        }
        do throws(LoadError) {
            var work: [ProcessingStep] = []
            let (info, pixels) = try timed(verified ? .decode : .process, &work) { () throws(LoadError) in
                if !response.isDelimited { try codecs.checkEndMarker(of: response.body) }
                return try check(response.body, verified: verified && !response.isVerified)
            }
            let picture = Report.Picture(format: info.format, width: info.width, height: info.height)
            report.source = picture
            report.picture = picture
            return try store(
                response.body, report, .image(info.format), target, after: work,
                subject: subject(response.body, info, pixels))
        } catch {
            // A failure to store the body, or a cancellation, is no fault of the body.
            guard error.stage != .store, error.code != .cancelled else { throw error }
            report.outcome = .failed
            report.picture = nil
            report.source = nil
            report.from = nil
            let named = error.naming(response.head)
            report.error = LoadError(
                named.code, stage: named.stage, url: named.url, message: named.message, status: report.status,
                underlying: named.underlying)
            return ProcessedBody(report, .unknown(mediaType: nil))
        }
    }

    /// Encodes a decoded image and stores it.
    private func reencode(_ image: LoadedImage, _ target: Target) throws(LoadError) -> ProcessedBody {
        let source = Report.Picture(format: image.info.format, width: image.info.width, height: image.info.height)
        var report = Report(
            outcome: .ok, picture: source, source: source, bytes: image.bodyBytes, wireBytes: image.wireBytes,
            status: image.head.version == .none ? nil : image.head.status, from: image.source,
            finalURL: image.url == target.url.string ? nil : image.url)
        report.isIncomplete = image.isIncomplete
        let format = outputFormat(of: image.info.format)
        let subject = options.wantsThumbnails ? ThumbnailSubject.pixels(image.pixels) : nil
        if options.discards { return ProcessedBody(report, .image(format), subject: subject) }
        var encoding = options.image.encoding(as: format)
        if options.keepsMetadata { encoding.metadata = image.metadata }
        var work: [ProcessingStep] = []
        let file = try timed(.encode, &work) { [encoding] () throws(LoadError) in
            try codecs.encode(image.pixels, options: encoding)
        }
        try checkNotCancelled()
        report.picture = Report.Picture(format: format, width: image.pixels.width, height: image.pixels.height)
        return try store(file, report, .image(format), target, after: work, subject: subject)
    }

    /// A file of an earlier run.
    struct Existing: Sendable {
        var name: String
        var picture: Report.Picture?
        var subject: ThumbnailSubject?
    }

    /// Returns the file of that name, if it is complete.
    func existing(_ name: String) -> Existing? {
        guard let store, !cancellation.isCancelled else { return nil }
        if options.treatment == .anything { return store.exists(name) ? Existing(name: name) : nil }
        guard let bytes = store.existing(name, limit: options.network.limits.maximumBodyBytes),
            let (info, pixels) = try? check(bytes, verified: options.treatment == .unchanged(verified: true))
        else { return nil }
        let picture = Report.Picture(format: info.format, width: info.width, height: info.height)
        return Existing(name: name, picture: picture, subject: subject(bytes, info, pixels))
    }

    /// Returns whether a file is an image, but only a part of one.
    func isDamaged(_ name: String) -> Bool {
        guard options.treatment != .anything, let store,
            let bytes = store.existing(name, limit: options.network.limits.maximumBodyBytes)
        else { return false }
        do throws(LoadError) {
            _ = try check(bytes, verified: false)
            return false
        } catch {
            return error.code == .truncated || error.code == .damaged
        }
    }

    private func outputFormat(of source: ImageFormat) -> ImageFormat {
        options.format ?? (codecs.encodableFormats.contains(source) ? source : .png)
    }

    /// Makes thumbnails for the report, after loads have ended.
    var thumbnails: ThumbnailRenderer { ThumbnailRenderer(codecs: codecs, cancellation: isCancelled) }

    private func subject(_ bytes: Bytes, _ info: ImageInfo, _ pixels: PixelBuffer?) -> ThumbnailSubject? {
        guard options.wantsThumbnails else { return nil }
        return pixels.map { .pixels($0) }
            ?? .file(bytes, info.format, pixels: info.storedWidth * info.storedHeight)
    }

    /// - Returns: The header's information, and a small image if the body was `verified` and thumbnails are requested.
    private func check(_ bytes: Bytes, verified: Bool) throws(LoadError) -> (ImageInfo, PixelBuffer?) {
        let info = try codecs.validate(bytes, maximumPixels: options.network.limits.maximumPixels)
        guard verified else { return (info, nil) }
        var decoding = DecodeOptions()
        decoding.maximumPixels = options.network.limits.maximumPixels
        decoding.maximumMemory = options.network.limits.maximumDecodeBytes
        let makesThumbnail = options.wantsThumbnails
        if makesThumbnail {
            decoding.resize = Resize(width: ThumbnailRenderer.side, height: ThumbnailRenderer.side)
        }
        let memory =
            makesThumbnail
            ? try codecs.memoryNeeded(bytes, options: decoding) : try codecs.memoryToVerify(bytes, options: decoding)
        let pixels: PixelBuffer? = try pipeline.withinDecodeLimits(memory: memory, cancellation: cancellation) {
            [decoding] (cancellation) throws(LoadError) in
            if makesThumbnail { return try codecs.decode(bytes, options: decoding, cancellation: cancellation).0 }
            try codecs.verify(bytes, options: decoding, cancellation: cancellation)
            return nil
        }
        return (info, pixels)
    }

    private func store(
        _ bytes: Bytes, _ report: Report, _ kind: BodyKind, _ target: Target, after work: [ProcessingStep] = [],
        subject: ThumbnailSubject? = nil
    ) throws(LoadError) -> ProcessedBody {
        if options.discards { return ProcessedBody(report, kind, work: work, subject: subject) }
        if let current = target.current, store?.existing(current, limit: Int64(bytes.count)) == bytes {
            var report = report
            report.outcome = .skipped
            return ProcessedBody(report, kind, work: work, subject: subject, validator: target.validator)
        }
        var work = work
        let draft = try timed(.store, &work) { () throws(LoadError) in
            if let store { return try Optional(store.draft(bytes)) }
            try writeToOutput(bytes)
            return nil
        }
        return ProcessedBody(
            report, kind, draft: draft, writtenBytes: Int64(bytes.count), work: work, subject: subject,
            validator: target.validator)
    }

    /// Performs a step, and notes its duration if the run is recorded.
    private func timed<Value>(
        _ stage: RunRecord.Stage, _ work: inout [ProcessingStep], _ step: () throws(LoadError) -> Value
    ) throws(LoadError) -> Value {
        guard isRecorded else { return try step() }
        let start = clock.now()
        let value = try step()
        work.append(ProcessingStep(stage: stage, start: start, end: clock.now()))
        return value
    }

    private func writeToOutput(_ bytes: Bytes) throws(LoadError) {
        do throws(StandardStream.WriteError) {
            try unsafe bytes.withUnsafeBytes { (buffer) throws(StandardStream.WriteError) in
                try unsafe StandardStream.output.write(buffer)
            }
        } catch {
            if error == .closed {
                throw LoadError(.outputClosed, stage: .store, message: "The reader of standard output closed it.")
            }
            throw LoadError(
                .cannotWrite, stage: .store,
                message: "Cannot write to standard output: \(error.system.text). Redirect it, or write to a "
                    + "folder with -o DIR.", underlying: error.system)
        }
    }

    private func checkNotCancelled() throws(LoadError) {
        guard cancellation.isCancelled else { return }
        throw LoadError(.cancelled, stage: .process, message: "The run was stopped.")
    }
}

extension LoadError.Code {
    /// The reader of standard output has closed it. Used by this command alone, and never reported.
    static let outputClosed = Self(rawValue: "outputClosed")
}
