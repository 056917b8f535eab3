import InflightConcurrency

/// Work on pixels, on one of the engine's decoding threads.
// Unchecked: `flag` is touched only while the job's stripe of locks is held; what a job works on is written before the
// machine lets it start, with the engine's lock taken in between.
class PixelJob: EngineJob, @unchecked Sendable {
    fileprivate let plan: RequestPlan
    /// Made when somebody looks: most jobs wait for a long time and are never cancelled.
    private var flag: CancellationFlag?

    fileprivate init(engine: Engine, id: ID, plan: RequestPlan) {
        self.plan = plan
        super.init(engine: engine, id: id)
    }

    fileprivate final var cancellation: CancellationFlag {
        LockStripes.stripe(for: self).lock.withLock {
            if let flag { return flag }
            let made = CancellationFlag()
            flag = made
            return made
        }
    }

    /// Until the job has ended, its result is what it works on.
    final override func feed(_ result: JobResult) {
        self.result = result
    }

    final override func start(priority: LoadPriority) {
        engine.workers.run { self.run() }
    }

    final override func cancel() {
        cancellation.cancel()
    }

    private func run() {
        guard let input = result.take() else { preconditionFailure("work on pixels was started without any") }
        let isOfStored = input.value.isStoredResponse
        do throws(LoadError) {
            let cancellation = cancellation
            if cancellation.isCancelled { throw .cancelled(url: plan.url.string, stage: .decode) }
            let image = try work(on: input.value, cancellation: cancellation)
            keepProcessed(image)
            engine.jobEnded(self, with: JobResult(.image(image), isFollowed: input.isFollowed), cachedAs: key)
        } catch {
            // What is stored is not to blame for a limit, or for a cancel.
            let isUseless = isOfStored && (error.code == .damaged || error.code == .notAnImage)
            engine.jobEnded(
                self, with: JobResult(.failure(error.about(url: plan.url.string)), isOfStored: isUseless))
        }
    }

    /// Has a store keep the picture as it is now, where somebody who waits for just that wants it.
    private func keepProcessed(_ image: LoadedImage) {
        guard let storable = image.storable, !image.isStale, let options = engine.storedOptions(id) else { return }
        engine.keepProcessed(image.pixels, of: storable, by: plan, options)
    }

    final override var logFields: [(name: String, value: String)] {
        [("job", self is DecodeJob ? "decode" : "process"), ("url", plan.url.string)]
    }

    fileprivate var key: JobKey? { nil }

    fileprivate func work(on input: JobResult.Value, cancellation: CancellationFlag) throws(LoadError) -> LoadedImage {
        preconditionFailure("a job without work was started")
    }
}

/// Makes pixels of the bytes that a fetch gave.
// Unchecked: it adds nothing to what guards its superclass.
final class DecodeJob: PixelJob, @unchecked Sendable {
    override init(engine: Engine, id: ID, plan: RequestPlan) {
        super.init(engine: engine, id: id, plan: plan)
    }

    override fileprivate var key: JobKey? { plan.memoryKey(at: 0, harmlessFields: engine.harmlessFields) }

    override fileprivate func work(
        on input: JobResult.Value, cancellation: CancellationFlag
    ) throws(LoadError) -> LoadedImage {
        let response: LoadedResponse
        switch input {
        case .response(let bytes): response = bytes
        // From a source: there is nothing to decode.
        case .image(let image): return image.fitted(to: plan.decodeOptions())
        case .info, .failure: preconditionFailure("a decode was started without bytes")
        }
        do throws(LoadError) {
            let (pixels, info) = try engine.codecs.decode(
                response.body, options: plan.decodeOptions(), cancellation: cancellation)
            var image = LoadedImage(
                pixels: pixels, info: info, head: response.head, url: response.url,
                bodyBytes: Int64(response.body.count), wireBytes: response.wireBytes, source: response.source)
            image.isStale = response.isStale
            image.storable = response.storable
            return image
        } catch {
            throw error.naming(contentType: response.head.fields["content-type"])
        }
    }
}

/// Applies one processor to the picture that the step before gave.
// Unchecked: it adds nothing that changes.
final class ProcessJob: PixelJob, @unchecked Sendable {
    private let position: Int

    /// - Parameter position: which of the request's processors it is.
    init(engine: Engine, id: ID, plan: RequestPlan, position: Int) {
        self.position = position
        super.init(engine: engine, id: id, plan: plan)
    }

    override fileprivate var key: JobKey? {
        plan.memoryKey(at: position + 1, harmlessFields: engine.harmlessFields)
    }

    override fileprivate func work(
        on input: JobResult.Value, cancellation: CancellationFlag
    ) throws(LoadError) -> LoadedImage {
        guard case .image(var image) = input else { preconditionFailure("a processor was started without a picture") }
        let pixels = try plan.request.processors[position].process(image.pixels, cancellation: cancellation)
        // Whatever it likes to work with, what was asked for comes out.
        image.pixels = pixels.inForm(of: plan.decodeOptions())
        return image
    }
}

extension LoadError {
    static func cancelled(url: String?, stage: Stage) -> LoadError {
        LoadError(.cancelled, stage: stage, url: url, message: "The load was cancelled.")
    }
}
